import type { MarkerGroup } from './markers.ts';
import type { OfferedPlace } from './offer.tsx';

/** Width of a character of a marker's text, and of its surroundings, in pixels. */
const [CHARACTER_PX, AROUND_PX] = [7, 24];

/** The texts of markers that do not overlap. If there is not enough room, the newest are shown. */
function textsOf(groups: readonly MarkerGroup[], width: number): readonly (string | null)[] {
  let limit = Number.POSITIVE_INFINITY;
  return groups
    .toReversed()
    .map(({ x, markers }) => {
      const text = markers.length === 1 ? (markers[0]?.text ?? '') : String(markers.length);
      const leftOf = (length: number): number => x - (x / width) * length;
      const length = text.length * CHARACTER_PX + AROUND_PX;
      const hasRoom = leftOf(length) + length <= limit;
      limit = leftOf(hasRoom ? length : AROUND_PX);
      return hasRoom ? text : null;
    })
    .toReversed();
}

/** Dashed lines at the markers, each with its text if there is room for it. */
export function MarkerLines(props: {
  readonly groups: readonly MarkerGroup[];
  readonly width: number;
  readonly end: number;
  readonly open: (place: OfferedPlace) => void;
}) {
  const { groups, width, end, open } = props;
  const texts = textsOf(groups, width);
  return (
    <>
      {groups.map(({ x, markers }, index) => {
        const left = (x / width) * 100;
        return (
          <div key={markers[0]?.at} class="chart-marker" style={{ left: `${left}%` }}>
            <button
              type="button"
              tabIndex={-1}
              aria-label={`Marker ${markers.map(({ text }) => text).join(', ')}`}
              style={{ transform: `translateX(-${left}%)` }}
              onClick={() =>
                open({ from: null, until: end, markers, isRange: false, takesFocus: false, x: left })
              }
            >
              <span>▼ {texts[index]}</span>
            </button>
          </div>
        );
      })}
    </>
  );
}
