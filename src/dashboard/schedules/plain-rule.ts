/** A rule of a schedule in plain words: `Hourly at :00`, `Mondays at 07:00`. */

const DAYS = ['Sundays', 'Mondays', 'Tuesdays', 'Wednesdays', 'Thursdays', 'Fridays', 'Saturdays', 'Sundays'];
const DAY_NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** @returns the rule unchanged if it has no equivalent in plain words */
export function plainRule(rule: string): string {
  const [, fields = rule, bounds = ''] =
    /^([^()]*?)(?: \(m\/h\/dM\/MY\/d\))?( \([^()]*\))?$/.exec(rule) ?? [];
  const plain = fields.startsWith('every ') ? `E${fields.slice(1)}` : cronInWords(fields);
  return plain === null ? rule : `${plain}${bounds}`;
}

function cronInWords(text: string): string | null {
  const fields = text.trim().split(/\s+/);
  // BullMQ's patterns may begin with seconds.
  if (fields.length === 6 && fields[0] === '0') fields.shift();
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields;
  if (fields.length !== 5 || month !== '*') return null;
  if (day === '*' && weekday === '*' && hour === '*') return minutesInWords(minute);
  const step = stepOf(hour, 24);
  if (day === '*' && weekday === '*' && step !== null && isNumber(minute)) {
    return `Every ${step} h at :${minute.padStart(2, '0')}`;
  }
  if (!isNumber(minute) || !isNumber(hour)) return null;
  const time = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
  if (weekday === '*') {
    if (day === '*') return `Daily at ${time}`;
    return isNumber(day) ? `Monthly on day ${day} at ${time}` : null;
  }
  const days = day === '*' ? daysInWords(weekday) : null;
  return days === null ? null : `${days} at ${time}`;
}

function minutesInWords(minute: string): string | null {
  if (minute === '*') return 'Every minute';
  if (isNumber(minute)) return `Hourly at :${minute.padStart(2, '0')}`;
  const step = stepOf(minute, 60);
  return step === null ? null : `Every ${step} min`;
}

function daysInWords(weekday: string): string | null {
  const day = weekday.toLowerCase();
  if (day === '1-5' || day === 'mon-fri') return 'Mondays to Fridays';
  const number = DAY_NAMES.includes(day) ? DAY_NAMES.indexOf(day) : isNumber(day) ? Number(day) : -1;
  return DAYS[number] ?? null;
}

const isNumber = (text: string): boolean => /^\d{1,2}$/.test(text);

/** The step 5 of a star, a slash and 5. Only steps that divide the whole evenly are regular. */
function stepOf(field: string, whole: number): number | null {
  const step = Number(/^\*\/(\d{1,2})$/.exec(field)?.[1] ?? 0);
  return step > 1 && whole % step === 0 ? step : null;
}
