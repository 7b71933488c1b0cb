import { useEffect, useState } from 'preact/hooks';
import { zone } from '../page-state.ts';
import {
  type HistoryStart,
  historyStart,
  LONG_RANGES,
  linkBetween,
  loadHistoryStart,
  minutesOf,
  RANGES,
  type Range,
} from '../range.ts';
import { go, linkHere } from '../route.ts';
import { useStore } from '../store.ts';
import { fieldText, fromField, minute } from '../text/format.ts';

const MINUTE = 60_000;
/** Markers to choose from. */
const MOST_MARKERS = 5;

type Changes = Readonly<Record<string, string | null>>;

/** The parameters of the address without a period. */
const NO_PERIOD: Changes = { range: null, from: null, to: null };

/** Every way to choose a period. @param canBeAny whether the view can show all times; `isAny`: whether it does */
export function RangeChoices(props: {
  readonly range: Range;
  readonly isAny: boolean;
  readonly canBeAny: boolean;
}) {
  const { range, isAny, canBeAny } = props;
  const start = useStore(historyStart);
  const chosen = useStore(zone);
  useEffect(() => void loadHistoryStart(), []);
  const offered = start.isKept ? [...RANGES, ...LONG_RANGES] : RANGES;
  return (
    <>
      <ul class="range-list">
        {canBeAny && (
          <li>
            <Choice changes={NO_PERIOD} isCurrent={isAny} text="Any time" />
          </li>
        )}
        {offered.map(([name, text], index) => (
          <li key={name}>
            <Choice
              changes={{ ...NO_PERIOD, range: name }}
              isCurrent={!isAny && range.kind === 'last' && range.minutes === minutesOf(name)}
              isDisabled={reachesBack(start, minutesOf(offered[index - 1]?.[0] ?? null))}
              text={`Last ${text}`}
            />
          </li>
        ))}
      </ul>
      <Limits key={range.key} range={range} />
      {start.markers.length > 0 && (
        <ul class="range-markers" aria-label="Since a marker">
          {start.markers.slice(0, MOST_MARKERS).map(({ at, text }) => (
            <li key={`${at} ${text}`}>
              <Choice
                changes={{ ...NO_PERIOD, from: at }}
                isCurrent={range.kind === 'since' && range.since.getTime() === Date.parse(at)}
                text={`Since ${text} ${minute(new Date(at), chosen)}`}
              />
            </li>
          ))}
        </ul>
      )}
      {start.at !== null && <p class="dim">History starts {minute(new Date(start.at), chosen)}</p>}
    </>
  );
}

/** Whether a period of this length reaches the start of the history: a longer one shows no more. */
const reachesBack = ({ at }: HistoryStart, minutes: number | null): boolean =>
  at !== null && minutes !== null && Date.now() - minutes * MINUTE <= at;

function Choice(props: {
  readonly changes: Changes;
  readonly text: string;
  readonly isCurrent: boolean;
  readonly isDisabled?: boolean;
}) {
  const { changes, text, isCurrent, isDisabled = false } = props;
  return (
    <button
      type="button"
      class="choice"
      disabled={isDisabled}
      aria-current={isCurrent ? 'true' : undefined}
      onClick={() => go(linkHere(changes))}
    >
      {text}
    </button>
  );
}

/** Fields for any period, in the chosen zone. */
function Limits({ range }: { readonly range: Range }) {
  const chosen = useStore(zone);
  const [from, setFrom] = useState(fieldText(range.since, chosen));
  const [to, setTo] = useState(fieldText(range.until, chosen));
  const [start, end] = [fromField(from, chosen), fromField(to, chosen)];
  const isUsable = start !== null && end !== null && start < end;
  const suffix = chosen === 'utc' ? ' (UTC)' : '';
  return (
    <form
      class="flow range-limits"
      onSubmit={(event) => {
        event.preventDefault();
        if (isUsable) go(linkBetween(start, end));
      }}
    >
      <label class="field">
        <span>From{suffix}</span>
        <input type="datetime-local" value={from} onInput={(event) => setFrom(event.currentTarget.value)} />
      </label>
      <label class="field">
        <span>To{suffix}</span>
        <input type="datetime-local" value={to} onInput={(event) => setTo(event.currentTarget.value)} />
      </label>
      <button type="submit" disabled={!isUsable}>
        Show
      </button>
    </form>
  );
}
