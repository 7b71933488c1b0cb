import { useEffect } from 'preact/hooks';
import { zone } from '../page-state.ts';
import { lazy } from '../parts/lazy.tsx';
import {
  historyStart,
  isComparedAt,
  linkBetween,
  loadHistoryStart,
  type Range,
  rangeText,
  useIsCompared,
  useRange,
  useStartInBefore,
} from '../range.ts';
import { currentRoute, go, linkHere } from '../route.ts';
import { useStore } from '../store.ts';
import { clockTime } from '../text/format.ts';
import { type View, viewOf } from '../views.tsx';
import { Popover } from './popover.tsx';

const RangeChoices = lazy(async () => (await import('./range-picker.tsx')).RangeChoices);

/** The period of the view, and whether it is compared with the previous one. On a phone both are in the panel. */
export function RangeControls(props: { readonly view: View | undefined; readonly isPhone: boolean }) {
  const { view, isPhone } = props;
  const range = useRange();
  const chosen = useStore(zone);
  const isCompared = useIsCompared();
  useEffect(() => {
    if (isCompared) void loadHistoryStart();
  }, [isCompared]);
  if (view === undefined) return null;
  if (view.period === 'now') return view.key !== undefined && <span class="dim frame-now">Now</span>;
  const isAny = view.period === 'any' && !range.isChosen;
  const text = isAny ? 'Any time' : rangeText(range, chosen);
  const [compare, partial] = view.canCompare === true ? [<CompareButton />, <PartialBefore />] : [];
  const [previous, next] = isAny ? [] : [<Shift range={range} by={-1} />, <Shift range={range} by={1} />];
  const back = range.kind === 'fixed' && (
    <span class="one-line frame-fixed">
      Fixed range · <a href={linkHere({ from: null, to: null })}>Back to live</a>
    </span>
  );
  const choices = <RangeChoices range={range} isAny={isAny} canBeAny={view.period === 'any'} />;
  const panel = isPhone ? (
    <>
      {back}
      {partial}
      {choices}
      <div class="range-phone">
        {previous}
        {next}
        {compare}
      </div>
    </>
  ) : (
    choices
  );
  const button = (
    <Popover id="range" class="frame-range" label={`Time: ${text}`} text={text}>
      {panel}
    </Popover>
  );
  if (isPhone) return button;
  return (
    <>
      {back}
      {partial}
      {previous}
      {button}
      {next}
      {compare}
    </>
  );
}

/** Switches the comparison with the previous period on or off. */
export function toggleCompare(): void {
  if (viewOf(currentRoute.get())?.canCompare !== true) return;
  go(linkHere({ compare: isComparedAt(currentRoute.get()) ? '0' : '1' }), true);
}

function CompareButton() {
  const isCompared = useIsCompared();
  return (
    <button
      type="button"
      class="frame-compare"
      aria-pressed={isCompared}
      title="Compare with the previous period (c)"
      onClick={toggleCompare}
    >
      Compare
    </button>
  );
}

/** Says why numbers are not compared: the history starts during the previous period, or after it. */
function PartialBefore() {
  const start = useStartInBefore();
  const chosen = useStore(zone);
  if (start === null) return null;
  return (
    <span class="one-line frame-fixed">History starts {clockTime(start, chosen)}: partial comparison</span>
  );
}

/** Moves the period by its length. No period ends in the future or before the history starts. */
function Shift({ range, by }: { readonly range: Range; readonly by: -1 | 1 }) {
  const { at } = useStore(historyStart);
  const { kind, since, until } = range;
  const isOut = by < 0 ? at !== null && since.getTime() <= at : kind !== 'fixed';
  const [label, sign] = by < 0 ? ['Previous period', '‹'] : ['Next period', '›'];

  function shift(): void {
    const length = until.getTime() - since.getTime();
    const end = Math.min(until.getTime() + by * length, Date.now());
    go(linkBetween(end - length, end));
  }

  return (
    <button
      type="button"
      class="frame-shift"
      aria-label={label}
      title={label}
      disabled={isOut}
      onPointerEnter={() => void loadHistoryStart()}
      onFocus={() => void loadHistoryStart()}
      onClick={shift}
    >
      {sign}
    </button>
  );
}
