/** When each task of a workflow waited and ran, and where that is on the time axis. */
import type { GraphNodeBody } from '../../wire.ts';
import { duration, millis } from '../text/format.ts';
import { ENDED } from '../text/words.ts';

/** An interval of time, in milliseconds since 1970. */
export type Interval = readonly [from: number, to: number];

/** The times of a task, in milliseconds since 1970; `null` if unknown or missing. */
export interface Span {
  /** For a retried task: when it was sent. */
  readonly sent: number | null;
  /** When its earlier attempts ran. Only the page of a task knows them. */
  readonly earlier?: readonly Interval[];
  /** When the last attempt began to wait. */
  readonly from: number | null;
  readonly started: number | null;
  readonly ended: number | null;
  /** Whether it still waits or runs, so that it lasts until now. */
  readonly isOpen: boolean;
}

const NONE: Span = { sent: null, from: null, started: null, ended: null, isOpen: false };
const DONE: ReadonlySet<string> = new Set(ENDED);
/** Nodes that did not change are the same objects as before. */
const known = new WeakMap<GraphNodeBody, Span>();

/** The times of one task. */
export function spanOf(node: GraphNodeBody): Span {
  const before = known.get(node);
  if (before !== undefined) return before;
  const span = readSpan(node);
  known.set(node, span);
  return span;
}

function readSpan(node: GraphNodeBody): Span {
  if (node.state === null) return NONE;
  const isOpen = !DONE.has(node.state) && !node.flags.includes('end_unseen');
  const [sent, started] = [millis(node.sent_at), millis(node.started_at)];
  const ended = isOpen ? null : endOf(node, started);
  const isRetried = (node.retries ?? 0) > 0;
  if (node.state === 'RETRY') return { ...NONE, sent: sent ?? started, isOpen };
  if (started === null) {
    const since = millis(node.received_at) ?? sent;
    const eta = millis(node.eta);
    const from = since === null ? null : Math.max(since, eta ?? since);
    const ran = ended === null || node.duration_ms === null ? null : ended - node.duration_ms;
    return { sent: isRetried ? sent : null, from: ran ?? from, started: ran, ended, isOpen };
  }
  const from = node.wait_ms === null ? started : started - node.wait_ms;
  return { sent: isRetried ? sent : null, from, started, ended: ended ?? (isOpen ? null : started), isOpen };
}

function endOf({ finished_at, duration_ms }: GraphNodeBody, started: number | null): number | null {
  const finished = millis(finished_at);
  // Clocks of two machines differ.
  if (finished !== null && (started === null || finished >= started)) return finished;
  return started === null ? finished : started + (duration_ms ?? 0);
}

/** Several tasks as one: from the start of the first wait to the end of the last task. */
export function spanOfAll(spans: readonly Span[]): Span {
  let [from, started, ended, isOpen]: [number | null, number | null, number | null, boolean] = [
    null,
    null,
    null,
    false,
  ];
  for (const span of spans) {
    from = least(from, span.from ?? span.sent);
    started = least(started, span.started);
    ended = ended === null ? span.ended : Math.max(ended, span.ended ?? ended);
    isOpen ||= span.isOpen;
  }
  return { sent: null, from, started, ended, isOpen };
}

const least = (one: number | null, other: number | null): number | null =>
  one === null ? other : other === null ? one : Math.min(one, other);

/** A shortened pause. */
export interface Pause {
  readonly from: number;
  readonly to: number;
  /** Whether a task waited for its retry, tasks waited for workers, or nothing waited or ran. */
  readonly kind: 'retrying' | 'wait' | 'idle';
  /** Its start and its length on the axis, as shares of the axis. */
  readonly at: number;
  readonly share: number;
}

/** A time axis. */
export interface TimeScale {
  readonly from: number;
  readonly to: number;
  readonly pauses: readonly Pause[];
  /** The position of a time, from 0 to 1. */
  place(time: number): number;
}

/** A pause in which nothing waits or runs is shortened if it is longer than this share of the rest. */
const LONG_PAUSE = 0.1;
/** A pause in which tasks wait but none runs is shortened only if nothing else would be readable. */
const LONG_WAIT = 0.8;
/** Length of a shortened pause, as a share of the axis. */
const SHRUNK = 0.08;
const MOST_PAUSES = 6;

/** When a workflow waits or runs, and when it runs: disjoint intervals in order. */
export interface BusyTimes {
  readonly all: readonly Interval[];
  readonly running: readonly Interval[];
  /** From when a retried task was sent until its last attempt. */
  readonly retrying: readonly Interval[];
}

const NEVER: BusyTimes = { all: [], running: [], retrying: [] };

/** When anything waits or runs. @param now the end of open spans @param before busy times of other spans */
export function busyTimes(spans: readonly Span[], now: number, before: BusyTimes = NEVER): BusyTimes {
  const all = [...before.all];
  const running = [...before.running];
  const retrying = [...before.retrying];
  for (const { from, started, ended, isOpen, sent, earlier = [] } of spans) {
    const first = from ?? started ?? ended ?? (isOpen && sent !== null ? now : null);
    if (first === null) continue;
    const last = ended ?? (isOpen ? now : (started ?? first));
    if (last >= first) all.push([first, last]);
    if (started !== null && last >= started) running.push([started, last]);
    all.push(...earlier);
    running.push(...earlier);
    if (sent === null || sent > first) continue;
    all.push([sent, sent]);
    retrying.push([sent, first]);
  }
  return { all: merged(all), running: merged(running), retrying };
}

function merged(intervals: Interval[]): readonly Interval[] {
  intervals.sort((one, other) => one[0] - other[0]);
  const found: [number, number][] = [];
  for (const [from, to] of intervals) {
    const last = found.at(-1);
    if (last === undefined || from > last[1]) found.push([from, to]);
    else last[1] = Math.max(last[1], to);
  }
  return found;
}

/** The axis for these times; `null` if there are none. */
export function timeScale(busy: BusyTimes): TimeScale | null {
  const [first, last] = [busy.all[0], busy.all.at(-1)];
  if (first === undefined || last === undefined) return null;
  const [from, to] = [first[0], last[1]];
  const long = longPauses(busy, from, to);
  const idle = long.reduce((sum, pause) => sum + pause.to - pause.from, 0);
  // Even a workflow that took no time has an axis.
  const perMs = (1 - long.length * SHRUNK) / Math.max(1, to - from - idle);
  const pauses: Pause[] = [];
  let passed = 0;
  for (const pause of long) {
    const at = (pause.from - from - passed) * perMs + pauses.length * SHRUNK;
    pauses.push({ ...pause, at, share: SHRUNK });
    passed += pause.to - pause.from;
  }
  function place(time: number): number {
    let place = (time - from) * perMs;
    for (const pause of pauses) {
      if (time <= pause.from) break;
      const inside = Math.min(time, pause.to) - pause.from;
      place += (inside / (pause.to - pause.from)) * SHRUNK - inside * perMs;
    }
    return Math.min(1, Math.max(0, place));
  }
  return { from, to, pauses, place };
}

/** The pauses to shorten, in order. */
function longPauses({ all, running, retrying }: BusyTimes, from: number, to: number) {
  const long: Pick<Pause, 'from' | 'to' | 'kind'>[] = [];
  let rest = to - from;
  function shrink(pauses: readonly Interval[], share: number, kind: 'wait' | 'idle'): void {
    const longest = pauses.toSorted((one, other) => other[1] - other[0] - (one[1] - one[0]));
    for (const [start, end] of longest) {
      if (end - start <= rest * share || long.length === MOST_PAUSES) return;
      const isRetrying = retrying.some(([since, until]) => since <= start && end <= until);
      long.push({ from: start, to: end, kind: isRetrying ? 'retrying' : kind });
      rest -= end - start;
    }
  }
  const idle = between(all);
  shrink(idle, LONG_PAUSE, 'idle');
  const ends: readonly Interval[] = [[from, from], ...running, [to, to]];
  const isFree = ([start, end]: Interval): boolean =>
    !long.some((pause) => pause.from < end && start < pause.to);
  if (running.length > 0) shrink(between(ends).filter(isFree), LONG_WAIT, 'wait');
  return long.toSorted((one, other) => one.from - other.from);
}

const between = (intervals: readonly Interval[]): readonly Interval[] =>
  intervals.slice(1).map(([from], index) => [intervals[index]?.[1] ?? from, from]);

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 20, 30].map((one) => one * SECOND),
  ...[1, 2, 5, 10, 20, 30].map((one) => one * MINUTE),
  ...[1, 2, 6, 12, 24, 48, 168].map((one) => one * HOUR),
];
const MOST_TICKS = 6;

/** The labels of an axis: the time since its start. @param gap minimum distance of two labels, as a share */
export function ticksOf(scale: TimeScale, gap: number) {
  const idle = scale.pauses.reduce((sum, { from, to }) => sum + to - from, 0);
  const most = Math.max(1, Math.min(MOST_TICKS, Math.floor(1 / gap)));
  const step = STEPS.find((one) => (scale.to - scale.from - idle) / one <= most) ?? STEPS.at(-1) ?? HOUR;
  const taken = scale.pauses.map(({ at, share }) => at + share / 2);
  const ticks: { readonly at: number; readonly text: string }[] = [];
  let start = scale.from;
  for (const end of [...scale.pauses.map(({ from }) => from), scale.to]) {
    const next = scale.from + Math.ceil((start - scale.from) / step) * step;
    for (let time = next; time <= end && ticks.length < MOST_TICKS * 3; time += step) {
      const at = scale.place(time);
      if (taken.some((other) => Math.abs(other - at) < gap)) continue;
      taken.push(at);
      ticks.push({ at, text: time === scale.from ? '0' : duration(time - scale.from) });
    }
    start = scale.pauses.find(({ from }) => from === end)?.to ?? end;
  }
  return ticks;
}
