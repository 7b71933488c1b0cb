import '../style/waterfall-rows.css';
import type { ComponentChildren } from 'preact';
import { linkTo, taskLink } from '../route.ts';
import { count } from '../text/numbers.ts';
import { Bar } from './bar.tsx';
import { MORE_LISTED, type Row } from './rows.ts';
import type { TimeScale } from './time-scale.ts';
import type { Rows } from './use-rows.ts';
import { type Facts, timesText } from './words.ts';

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
  readonly held: Pick<Rows, 'pick' | 'toggle'>;
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
