/**
 * Formats a number with separators and at most three decimals: `1,200`. It does not use `Intl.NumberFormat`, because
 * creating the first one took most of the start-up time of the page's code.
 */
export const count = (value: number): string =>
  String(Math.round(value * 1_000) / 1_000).replace(/(?<!\.\d*)\B(?=(?:\d{3})+(?!\d))/g, ',');

/** `1 task`, `1,200 tasks` */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** Formats a duration for people: `850 ms`, `2.4 s`, `3 min 12 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  const sign = ms < 0 ? '−' : '';
  const length = Math.abs(ms);
  if (length < 1) return length === 0 ? '0 ms' : `${sign}<1 ms`;
  if (length < 999.5) return `${sign}${Math.round(length)} ms`;
  const seconds = length / 1_000;
  if (seconds < 9.95) return `${sign}${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${sign}${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3_600) return `${sign}${pair(Math.floor(whole / 60), 'min', whole % 60, 's')}`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return `${sign}${pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min')}`;
  const hours = Math.round(seconds / 3_600);
  return `${sign}${pair(Math.floor(hours / 24), 'd', hours % 24, 'h')}`;
}

/** A duration in its largest unit only: `12 s`, `3 min`, `2 h`, `3 d`. */
export function coarse(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${count(Math.floor(seconds / 86_400))} d`;
}

function pair(much: number, unit: string, little: number, smallUnit: string): string {
  return little === 0 ? `${much} ${unit}` : `${much} ${unit} ${little} ${smallUnit}`;
}

/** Formats seconds; a dash when the value is unknown. */
export const seconds = (value: number | null): string => (value === null ? '–' : duration(value * 1_000));

/** Formats seconds of statistics: percentiles of counts by minute are known to the accuracy of a class only. */
export const secondsOf = (stats: { readonly computed_from?: 'tasks' | 'rollups' }) =>
  stats.computed_from === 'rollups'
    ? (value: number | null): string => (value === null ? '–' : `≈ ${seconds(value)}`)
    : seconds;

/** Formats a number of bytes. */
export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let size = value / 1_000;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1_000;
    unit += 1;
  }
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

/** Formats a share in percent. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return '–';
  const share = (part / whole) * 100;
  return `${share > 0 && share < 10 ? share.toFixed(1) : Math.round(share)} %`;
}
