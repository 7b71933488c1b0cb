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
  const { sent, earlier = [], from, started, ended, isOpen } = facts.span;
  const end = ended ?? (isOpen ? now : (started ?? from));
  const first = sent ?? from ?? started ?? ended;
  const text = barText(facts, now);
  const isPlaced = scale !== null && first !== null && end !== null;
  const piece = (kind: string, since: number | null, until: number | null) =>
    isPlaced &&
    since !== null &&
    until !== null &&
    since <= until && <i key={kind + since} class={`wf-${kind}`} style={lengthOf(scale, since, until)} />;
  const waitEnd = started ?? end;
  return (
    <>
      {piece('retry', sent, from ?? started ?? end)}
      {earlier.map(([since, until]) => piece('run tone-retry', since, until))}
      {from !== waitEnd && piece(`wait tone-${facts.barTone}`, from, waitEnd)}
      {piece(`run tone-${facts.barTone}`, started, end)}
      <span
        class="small-text num wf-text"
        aria-hidden="true"
        style={isPlaced ? placeOf(scale.place(first), scale.place(end), text, width) : undefined}
      >
        {text}
      </span>
    </>
  );
}

const percent = (share: number): string => `${(share * 100).toFixed(3)}%`;

function lengthOf({ place }: TimeScale, since: number, until: number): Record<string, string> {
  return { left: percent(place(since)), width: percent(place(until) - place(since)) };
}

/** After the bar if there is room, otherwise before it, otherwise on its middle. */
function placeOf(from: number, to: number, text: string, width: number): Record<string, string> {
  const room = text.length * CHARACTER_PX + 10;
  if ((1 - to) * width + BAR_END_PX >= room) return { left: `calc(${percent(to)} + 6px)` };
  if (from * width >= room) return { right: `calc(${percent(1 - from)} + 6px)` };
  const middle = `calc(${percent((from + to) / 2)} - ${Math.round(room / 2)}px)`;
  return { left: middle, background: 'var(--panel)' };
}
