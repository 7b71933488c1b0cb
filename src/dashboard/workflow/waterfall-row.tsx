import '../style/waterfall-rows.css';
import type { ComponentChildren } from 'preact';
import { linkTo, taskLink } from '../route.ts';
import { coarse, count, duration } from '../text/format.ts';
import { barText, type Facts, MORE_LISTED, type Row, timesText } from './rows.ts';
import { type Pause, type TimeScale, ticksOf } from './times.ts';

interface CellsProps {
  readonly row: Row;
  readonly facts: Facts;
  readonly scale: TimeScale | null;
  readonly now: number;
  /** Width of the time axis, in pixels. */
  readonly timeWidth: number;
  readonly isCause: boolean;
  readonly isAsked: boolean;
}

interface WaterfallRowProps extends CellsProps {
  readonly index: number;
  /** Its position in the list, in pixels. */
  readonly top: number;
  readonly isActive: boolean;
  readonly held: { readonly pick: (index: number) => void; readonly toggle: (index: number) => void };
}

/** The link of a row; `null` if it only opens and closes. */
export function linkOfRow({ kind }: Pick<Row, 'kind'>, { node }: Facts): string | null {
  if (kind !== 'task' || node === null || node.kind === 'chord') return null;
  return node.kind === 'group' ? linkTo('tasks', { group_id: node.id }) : taskLink(node.id);
}

/** The classes of a row: its kind, and its state. */
export function classesOfRow({ row, facts, isCause, isAsked }: CellsProps): string {
  const classes = ['wf-row', `tone-${facts.tone}`, `wf-${row.kind}`];
  if (isCause) classes.push('wf-is-cause');
  if (isAsked) classes.push('wf-is-asked');
  if (facts.isFaded) classes.push('wf-faded');
  return classes.join(' ');
}

/** One row of the waterfall. */
export function WaterfallRow(props: WaterfallRowProps) {
  const { row, index, top, isActive, isAsked, held } = props;
  const { kind, depth, isOpen } = row;
  return (
    <div
      role="row"
      class={classesOfRow(props)}
      style={{ transform: `translateY(${top}px)` }}
      aria-rowindex={index + 2}
      aria-level={depth + 1}
      aria-expanded={isOpen ?? undefined}
      aria-current={isAsked ? 'true' : undefined}
      data-active={isActive ? '' : undefined}
      tabIndex={isActive ? 0 : -1}
      onFocus={() => held.pick(index)}
      // The browser would scroll to a partly visible row, away from the pointer.
      onMouseDown={(event) => event.preventDefault()}
      onClick={(event) => {
        event.currentTarget.focus({ preventScroll: true });
        if (kind !== 'task') held.toggle(index);
      }}
      onKeyDown={(event) => {
        if (event.key !== ' ' || event.target !== event.currentTarget) return;
        event.preventDefault();
        held.toggle(index);
      }}
    >
      <Cells {...props} role="gridcell">
        <Toggle {...props} />
      </Cells>
    </div>
  );
}

/** The name and the bar of a row: cells of a grid, whose links are no tab stops, or parts of the item of a list. */
export function Cells(
  props: CellsProps & { readonly role?: 'gridcell'; readonly children?: ComponentChildren },
) {
  const { row, facts, scale, now, timeWidth, isCause, role, children } = props;
  const { kind, depth } = row;
  return (
    <>
      <span role={role} class="wf-name" style={{ '--depth': Math.min(depth, 12) }}>
        {children}
        {kind !== 'more' && (
          <i class="wf-mark" aria-hidden="true">
            {facts.mark}
          </i>
        )}
        <RowName row={row} facts={facts} tabIndex={role === undefined ? 0 : -1} />
        {isCause && <span class="small-text wf-tag">root cause</span>}
      </span>
      <span role={role} class="wf-time">
        {kind !== 'more' && (
          <>
            <Bar facts={facts} scale={scale} now={now} width={timeWidth} />
            <span class="offscreen">{`${facts.state}, ${timesText(facts, now)}`}</span>
          </>
        )}
      </span>
    </>
  );
}

function Toggle({ row, index, facts, held }: WaterfallRowProps) {
  if (row.isOpen === null) return <i class="dim wf-toggle" />;
  return (
    <button
      type="button"
      class="dim wf-toggle"
      tabIndex={-1}
      aria-label={`${row.isOpen ? 'Close' : 'Open'} ${facts.name}`}
      onClick={(event) => {
        event.stopPropagation();
        held.toggle(index);
      }}
    >
      {row.isOpen ? '▾' : '▸'}
    </button>
  );
}

function RowName(props: { readonly row: Row; readonly facts: Facts; readonly tabIndex: number }) {
  const { row, facts, tabIndex } = props;
  const { kind, ids } = row;
  if (kind === 'more')
    return <span class="wf-link">{`${count(Math.min(MORE_LISTED, ids.length))} more`}</span>;
  const retries = facts.node?.retries ?? 0;
  const link = linkOfRow(row, facts);
  return (
    <>
      {link !== null ? (
        <a class="wf-link" href={link} tabIndex={tabIndex}>
          <MiddleCut text={facts.name} />
        </a>
      ) : (
        <span class="wf-link">
          <MiddleCut text={facts.name} />
        </span>
      )}
      {kind === 'fold' && <span class="dim num wf-count">{`×${count(ids.length)}`}</span>}
      {retries > 0 && (
        <span class="dim num wf-count">
          <i aria-hidden="true">{`↻${count(retries)}`}</i>
        </span>
      )}
    </>
  );
}

/** Number of characters at the end of a name that are always shown. */
const END = 14;

/** A name that is cut in its middle if it does not fit. */
function MiddleCut({ text }: { readonly text: string }) {
  // Never in the middle of a character.
  const characters = [...text];
  const end = characters.length <= END ? '' : characters.slice(-END).join('');
  return (
    <>
      <span class="wf-start">{text.slice(0, text.length - end.length)}</span>
      {end !== '' && <span class="wf-end">{end}</span>}
    </>
  );
}

/** Space after the end of the axis, for texts. */
export const BAR_END_PX = 92;
/** Width of a text next to a bar, in pixels per character. */
const CHARACTER_PX = 6.6;

/** When a row waited and ran, on the time axis. */
function Bar(props: {
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

/** Minimum distance of two labels, in pixels. */
const TICK_PX = 72;
/** The same of two pauses: if they are closer, only the later one is labelled. */
const PAUSE_PX = 90;

/** The head of a waterfall, with the time since the first task was sent. */
export function Axis({ scale, width }: { readonly scale: TimeScale | null; readonly width: number }) {
  const ticks = scale === null || width <= 0 ? [] : ticksOf(scale, TICK_PX / width);
  const pauses = (scale?.pauses ?? []).filter(({ at }, index, all) => {
    const next = all[index + 1];
    return next === undefined || (next.at - at) * width >= PAUSE_PX;
  });
  return (
    <div role="row" class="small-text dim wf-axis" aria-rowindex={1}>
      <span role="columnheader" class="wf-name">
        Task
      </span>
      <span role="columnheader" class="wf-time" aria-label="Time">
        {ticks.map(({ at, text }) => (
          <span key={at} class="wf-tick" style={{ left: percent(at) }}>
            {text}
          </span>
        ))}
        {pauses.map((pause) => (
          <span key={pause.from} class="wf-pause" style={{ left: percent(pause.at + pause.share / 2) }}>
            {pauseText(pause)}
          </span>
        ))}
      </span>
    </div>
  );
}

function pauseText({ from, to, kind }: Pause): string {
  const length = to - from < 1_000 ? duration(to - from) : coarse(to - from);
  return kind === 'retrying' ? `${length}, retrying` : `${length} ${kind}`;
}

/** Bands behind the bars at shortened pauses, as a CSS background. */
export function pauseBands(scale: TimeScale | null): string {
  if (scale === null || scale.pauses.length === 0) return 'none';
  const stops = scale.pauses.flatMap(({ at, share }) => [
    `transparent ${percent(at)}`,
    `var(--raised) ${percent(at)}`,
    `var(--raised) ${percent(at + share)}`,
    `transparent ${percent(at + share)}`,
  ]);
  return `linear-gradient(to right, ${stops.join(', ')})`;
}
