const UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
];

/** Formats an interval in the largest unit that divides it: `every 30 s`, `every 5 min`, `every 1.5 s`. */
export function everyText(seconds: number): string {
  const [size, name] = UNITS.find(([unit]) => seconds >= unit && seconds % unit === 0) ?? [1, 's'];
  return `every ${seconds / size} ${name}`;
}
