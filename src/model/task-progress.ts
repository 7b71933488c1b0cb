/** How far a task has come, as it reports itself. At least one member is known. */
export interface TaskProgress {
  /** Steps that are done. */
  readonly current: number | null;
  /** Steps in all. */
  readonly total: number | null;
  /** 0 to 100. Default: as `current` and `total` show. */
  readonly percent: number | null;
  /** What the task says about it. At most 200 characters are shown. */
  readonly text: string | null;
}

/**
 * Longest text of a progress that is kept, in characters. More is kept than is shown, since a secret is recognized
 * by what stands before and behind it.
 */
export const LONGEST_PROGRESS = 400;

/** The names under which apps report it, by how common they are. */
const NAMES = {
  current: ['current', 'done', 'completed', 'processed', 'step'],
  total: ['total', 'steps', 'of', 'max', 'goal'],
  percent: ['percent', 'percentage', 'pct', 'progress'],
  text: ['text', 'message', 'description', 'status', 'detail', 'stage', 'step', 'phase'],
} as const;

/**
 * The progress in what a task reports: a number is a percentage, an object has some of the common names.
 *
 * @param value anything
 * @returns `null` where no figure says it. A total or a text alone is no progress: it may be anything
 */
export function progressOf(value: unknown): TaskProgress | null {
  if (typeof value === 'number' || typeof value === 'string') {
    const percent = figureOf(value);
    return percent === null ? null : { current: null, total: null, percent: percentOf(percent), text: null };
  }
  if (typeof value !== 'object' || value === null) return null;
  const members = value as Readonly<Record<string, unknown>>;
  const [current, total] = [firstFigure(members, NAMES.current), firstFigure(members, NAMES.total)];
  const given = firstFigure(members, NAMES.percent);
  if (current === null && given === null) return null;
  const text = NAMES.text
    .map((name) => members[name])
    .find((each) => typeof each === 'string' && each !== '');
  return {
    current,
    total,
    percent: given === null ? shareOf(current, total) : percentOf(given),
    text: typeof text === 'string' ? text.slice(0, LONGEST_PROGRESS) : null,
  };
}

/** How many hundredths of the steps are done; `null` where that cannot be said. */
export function shareOf(current: number | null, total: number | null): number | null {
  return current === null || total === null || total <= 0 ? null : percentOf((100 * current) / total);
}

/** A percentage between 0 and 100, in hundredths. */
export function percentOf(value: number): number {
  return Math.round(100 * Math.min(100, Math.max(0, value))) / 100 + 0;
}

function firstFigure(members: Readonly<Record<string, unknown>>, names: readonly string[]): number | null {
  for (const name of names) {
    const figure = figureOf(members[name]);
    if (figure !== null) return figure;
  }
  return null;
}

/** A number, also one that is written as text: `42`, `42 %`. */
function figureOf(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (typeof value !== 'string' || value.length > LONGEST_FIGURE || !FIGURE.test(value)) return null;
  return Number.parseFloat(value);
}

const LONGEST_FIGURE = 20;
const FIGURE = /^\s*\d+(?:\.\d+)?\s*%?\s*$/;
