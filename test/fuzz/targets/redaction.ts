/** Redaction: no secret comes out of a text, whatever stands beside it, and no text costs more than its length. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { createRedactor } from '../../../src/redact.ts';
import { cpuMs } from '../../helpers/cpu-time.ts';
import { ADVERSARIAL_UNITS, repeated } from '../../redact/adversarial.ts';
import { bytes, longText, text } from '../inputs.ts';
import { mutated } from '../mutations.ts';
import { EVENTS } from '../seeds.ts';
import { defineTarget } from '../target.ts';

const redactor = createRedactor();

const FILES = ['automaton', 'forms', 'key-value', 'keys-in-text', 'secret-finder', 'secret-keys', 'units'];
const COVERED = [...FILES, 'url-credentials', 'value-end', 'value-position'].map(
  (file) => `redact/${file}.ts`,
);

/** What comes before and behind a secret. */
const FRAMES: readonly (readonly [string, string])[] = [
  ['password=', ''],
  ["{'api_key': '", "'}"],
  ['Authorization: Bearer ', ''],
  ['redis://user:', '@host/0'],
  ['"token": "', '"'],
  ['{"\\u0070assword": "', '"}'],
  ['&quot;password&quot;:&quot;', '&quot;'],
  ['%2522password%2522%253A%2522', '%2522'],
  ['<key>password</key><string>', '</string>'],
  ['s:8:"password";s:11:"', '";'],
  ["setattr(self, 'password', '", "')"],
  ["PASSWORD=$'", "'"],
  ['{"Name":"pw","Type":"s","Value":"', '"}'],
  ['\u001b[32mtoken\u001b[0m=\u001b[33m', '\u001b[0m'],
  ['пароль: ', ''],
  ['jdbc:oracle:thin:scott/', '@//h'],
];

const adversarial = fc
  .array(fc.constantFrom(...ADVERSARIAL_UNITS), { minLength: 1, maxLength: 60 })
  .map((units) => units.join(''));

export const secretTarget = defineTarget({
  name: 'secrets in texts',
  share: 30,
  covers: COVERED,
  inputs: fc.tuple(
    fc.oneof(
      { weight: 3, arbitrary: mutated(EVENTS.map((event) => JSON.stringify(event))) },
      { weight: 3, arbitrary: fc.oneof(text, bytes) },
      { weight: 3, arbitrary: adversarial },
      { weight: 1, arbitrary: longText(32_768) },
    ),
    fc.constantFrom(...FRAMES),
  ),
  check([given, [before, behind]]) {
    const secret = 'S3cr3tV4lu3';
    redactor.text(given, 'args', true);
    // In front of it a line of its own, so that no quote that was opened before hides where it stands.
    expect(redactor.text(`${before}${secret}${behind}\n${given}`)).not.toContain(secret);
  },
});

const SHORT = 4_300;
/** Above this a text costs more than its length allows; the aim is 20. */
const MOST_RATIO = 200;

/** Milliseconds that a call takes: the fastest of some, by the processor's time. */
function costOf(run: () => unknown, calls: number): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round += 1) {
    const start = cpuMs();
    for (let call = 0; call < calls; call += 1) run();
    fastest = Math.min(fastest, (cpuMs() - start) / calls);
  }
  return fastest;
}

function ratioOf(unit: string): number {
  const given = repeated(unit, SHORT);
  return costOf(() => redactor.text(given), 8) / costOf(() => JSON.stringify(given), 200);
}

/** The units that cost the most so far, the worst first. Each case changes one of them and keeps it if it is worse. */
const worst: { unit: string; ratio: number }[] = [];
const KEPT = 24;

const change = fc.record({
  which: fc.nat(KEPT - 1),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  dropped: fc.nat(4),
  added: fc.oneof(
    fc.constantFrom(...ADVERSARIAL_UNITS),
    fc.constantFrom(...'"\'`\\:=,;&%{}[]()<> \n/@.-_$aA1'),
  ),
});

export const costTarget = defineTarget({
  name: 'the cost of redaction',
  share: 4,
  covers: COVERED,
  inputs: change,
  // A case is thousands of calls, and how long one takes is what it checks.
  isSlow: true,
  async open() {
    for (const unit of ADVERSARIAL_UNITS) keep(unit);
  },
  async close() {
    if (process.env.FUZZ_SUMMARY !== '1') return;
    for (const { unit, ratio } of worst.slice(0, 8)) {
      console.log(`${ratio.toFixed(1)} x JSON.stringify: ${JSON.stringify(unit)}`);
    }
  },
  check({ which, at, dropped, added }) {
    const { unit } = worst[which % worst.length] ?? { unit: 'pw=' };
    const place = Math.floor(at * unit.length);
    const changed = `${unit.slice(0, place)}${added}${unit.slice(place + dropped)}`.slice(0, 64);
    const ratio = keep(changed);
    if (ratio > MOST_RATIO) expect(ratioOf(changed), JSON.stringify(changed)).toBeLessThan(MOST_RATIO);
    // Four times the length takes four times the time. Small ones are too short to tell.
    const short = repeated(changed, 16_384);
    const long = repeated(changed, 65_536);
    const growth = (): number =>
      costOf(() => redactor.text(long), 1) / (costOf(() => redactor.text(short), 1) + 0.5);
    if (growth() > 12) expect(growth(), JSON.stringify(changed)).toBeLessThan(12);
  },
});

function keep(unit: string): number {
  const ratio = ratioOf(unit);
  if (worst.length < KEPT || ratio > (worst.at(-1)?.ratio ?? 0)) {
    worst.push({ unit, ratio });
    worst.sort((a, b) => b.ratio - a.ratio);
    worst.length = Math.min(worst.length, KEPT);
  }
  return ratio;
}
