import type { TimeScale } from './time-scale.ts';
import { barText, type Facts } from './words.ts';

/** Space after the end of the axis, for texts. */
export const BAR_END_PX = 92;
/** Width of a text next to a bar, in pixels per character. */
const CHARACTER_PX = 6.6;

/** When a row waited and ran, on the time axis. */
export function Bar(props: {
  readonly facts: Facts;
  readonly scale: TimeScale | null;
  readonly now: number;
  /** Width of the axis in pixels. */
  readonly width: number;
}) {
  const { facts, scale, now, width } = props;
  const text = barText(facts, now);
  if (scale === null)
    return (
      <span class="wf-text" aria-hidden="true">
        {text}
      </span>
    );
  const { sent, from, started, ended, isOpen } = facts.span;
  const end = ended ?? (isOpen ? now : (started ?? from));
  const [first, last] = [sent ?? from ?? started ?? ended, end];
  if (first === null || last === null)
    return (
      <span class="wf-text" aria-hidden="true">
        {text}
      </span>
    );
  const waitEnd = started ?? end;
  return (
    <>
      {sent !== null && <Piece kind="earlier" scale={scale} from={sent} to={from ?? started ?? last} />}
      {from !== null && waitEnd !== null && <Piece kind="wait" scale={scale} from={from} to={waitEnd} />}
      {started !== null && (
        <Piece kind={`run tone-${facts.barTone}`} scale={scale} from={started} to={last} />
      )}
      <span
        class="wf-text"
        aria-hidden="true"
        style={placeOf(scale.place(first), scale.place(last), text, width)}
      >
        {text}
      </span>
    </>
  );
}

function Piece(props: {
  readonly kind: string;
  readonly scale: TimeScale;
  readonly from: number;
  readonly to: number;
}) {
  const { kind, scale, from, to } = props;
  if (to < from) return null;
  const [left, right] = [scale.place(from), scale.place(to)];
  return <i class={`wf-${kind}`} style={{ left: percent(left), width: percent(right - left) }} />;
}

const percent = (share: number): string => `${(share * 100).toFixed(3)}%`;

/** After the bar if there is room, otherwise before it, otherwise on its middle. */
function placeOf(from: number, to: number, text: string, width: number): Record<string, string> {
  const room = text.length * CHARACTER_PX + 10;
  if ((1 - to) * width + BAR_END_PX >= room) return { left: `calc(${percent(to)} + 6px)` };
  if (from * width >= room) return { right: `calc(${percent(1 - from)} + 6px)` };
  const middle = `calc(${percent((from + to) / 2)} - ${Math.round(room / 2)}px)`;
  return { left: middle, background: 'var(--panel)' };
}
