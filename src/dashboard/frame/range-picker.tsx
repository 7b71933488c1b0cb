import { useState } from 'preact/hooks';
import { type HistoryStart, useHistoryStart } from '../range/history-start.ts';
import { LONG_RANGES, minutesOf, RANGES, type Range, rangeText } from '../range/range.ts';
import { useIsCompared, useRange } from '../range/use-range.ts';
import { go, linkHere } from '../route.ts';
import { zone } from '../settings.ts';
import { useStore } from '../store.ts';
import { fieldText, fromField, moment } from '../text/moments.ts';
import type { View } from '../views.ts';
import { Popover } from './popover.tsx';

const MINUTE = 60_000;
const BEGINNING = { range: null, from: null, to: null };
/** Markers to choose from. */
const MOST_MARKERS = 5;

/** The period of the view, and whether it is compared with the one before. */
export function RangeControls({ view }: { readonly view: View | undefined }) {
  const range = useRange();
  const isCompared = useIsCompared();
  const chosen = useStore(zone);
  if (view === undefined) return null;
  if (view.period === 'now') return <span class="frame-now dim">Now</span>;
  const isAny = view.period === 'any' && !range.isChosen;
  return (
    <>
      {range.kind === 'fixed' && (
        <span class="frame-fixed">
          Fixed range · <a href={linkHere(BEGINNING)}>Back to live</a>
        </span>
      )}
      <Popover
        id="range"
        class="frame-range"
        label={`Time: ${isAny ? 'Any time' : rangeText(range, chosen)}`}
        text={isAny ? 'Any time' : rangeText(range, chosen)}
      >
        {() => <Choices range={range} isAny={isAny} canBeAny={view.period === 'any'} />}
      </Popover>
      {view.canCompare === true && (
        <button
          type="button"
          class="frame-compare"
          aria-pressed={isCompared}
          title="Compare with the period before (c)"
          onClick={() => go(linkHere({ compare: isCompared ? '0' : '1' }), true)}
        >
          Compare
        </button>
      )}
    </>
  );
}

function Choices(props: { readonly range: Range; readonly isAny: boolean; readonly canBeAny: boolean }) {
  const { range, isAny, canBeAny } = props;
  const start = useHistoryStart();
  const chosen = useStore(zone);
  const offered = start.isKept ? [...RANGES, ...LONG_RANGES] : RANGES;
  return (
    <>
      <ul class="range-list">
        {canBeAny && (
          <li>
            <Choice changes={BEGINNING} isCurrent={isAny} text="Any time" />
          </li>
        )}
        {offered.map(([name, text], index) => {
          const minutes = minutesOf(name) ?? 0;
          return (
            <li key={name}>
              <Choice
                changes={{ ...BEGINNING, range: name }}
                isCurrent={!isAny && range.kind === 'last' && range.minutes === minutes}
                isDisabled={reaches(start, minutesOf(offered[index - 1]?.[0] ?? null))}
                text={`Last ${text}`}
              />
            </li>
          );
        })}
      </ul>
      <Shift range={range} start={start} />
      <Limits key={range.key} range={range} />
      {start.markers.slice(0, MOST_MARKERS).map(({ at, text }) => (
        <Choice
          key={`${at} ${text}`}
          changes={{ ...BEGINNING, from: at }}
          isCurrent={false}
          text={`Since ${text} ${moment(new Date(at), chosen, Date.now()).slice(0, -3)}`}
        />
      ))}
      {start.at !== null && (
        <p class="dim">History starts {moment(new Date(start.at), chosen, Date.now()).slice(0, -3)}</p>
      )}
    </>
  );
}

/** Whether a period of so many minutes reaches back to the beginning: a longer one shows no more. */
const reaches = ({ at }: HistoryStart, minutes: number | null): boolean =>
  at !== null && minutes !== null && Date.now() - minutes * MINUTE <= at;

function Choice(props: {
  readonly changes: Readonly<Record<string, string | null>>;
  readonly text: string;
  readonly isCurrent: boolean;
  readonly isDisabled?: boolean;
}) {
  const { changes, text, isCurrent, isDisabled = false } = props;
  return (
    <button
      type="button"
      class="range-choice"
      disabled={isDisabled}
      aria-current={isCurrent ? 'true' : undefined}
      onClick={() => go(linkHere(changes))}
    >
      {text}
    </button>
  );
}

/** The parameters of the period that is this many milliseconds later. It does not end in the future. */
function shifted({ since, until }: Range, by: number): Readonly<Record<string, string | null>> {
  const end = Math.min(until.getTime() + by, Date.now());
  const from = end - (until.getTime() - since.getTime());
  return { range: null, from: new Date(from).toISOString(), to: new Date(end).toISOString() };
}

function Shift({ range, start }: { readonly range: Range; readonly start: HistoryStart }) {
  const length = range.until.getTime() - range.since.getTime();
  return (
    <div class="range-shift">
      <button
        type="button"
        aria-label="The period before"
        disabled={start.at !== null && range.since.getTime() <= start.at}
        onClick={() => go(linkHere(shifted(range, -length)))}
      >
        ‹ Earlier
      </button>
      <button
        type="button"
        aria-label="The period after"
        disabled={range.kind !== 'fixed'}
        onClick={() => go(linkHere(shifted(range, length)))}
      >
        Later ›
      </button>
    </div>
  );
}

/** Fields for any period, in the chosen zone. */
function Limits({ range }: { readonly range: Range }) {
  const chosen = useStore(zone);
  const [from, setFrom] = useState(fieldText(range.since, chosen));
  const [to, setTo] = useState(fieldText(range.until, chosen));
  const [start, end] = [fromField(from, chosen), fromField(to, chosen)];
  const isUsable = start !== null && end !== null && start < end;
  return (
    <form
      class="range-limits"
      onSubmit={(event) => {
        event.preventDefault();
        if (isUsable) go(linkHere({ range: null, from: start.toISOString(), to: end.toISOString() }));
      }}
    >
      <label class="field">
        <span>From{chosen === 'utc' ? ' (UTC)' : ''}</span>
        <input type="datetime-local" value={from} onInput={(event) => setFrom(event.currentTarget.value)} />
      </label>
      <label class="field">
        <span>To{chosen === 'utc' ? ' (UTC)' : ''}</span>
        <input type="datetime-local" value={to} onInput={(event) => setTo(event.currentTarget.value)} />
      </label>
      <button type="submit" disabled={!isUsable}>
        Show
      </button>
    </form>
  );
}
