/**
 * Redaction against `JSON.stringify` of the same text, both timed in turn: ordinary arguments, harmless texts, and the
 * texts that fuzzing found to cost the most.
 */
import { createRedactor } from '../src/redact.ts';
import { ADVERSARIAL_UNITS, repeated, WORST_UNITS } from '../test/redact/adversarial.ts';
import { printTable } from './table.ts';

const ROUNDS = 60;
const LONG = 4_300;

const { text: redact } = createRedactor();

const line =
  "{'order': 1789, 'lines': [{'sku': 'A-1', 'qty': 2, 'price': '19.90'}], 'customer': {'name': 'Ann Smith', 'email': 'ann@example.org'}, 'note': 'please ring twice', 'express': True}, ";
const json =
  '{"order": 1789, "lines": [{"sku": "A-1", "qty": 2}], "customer": {"name": "Ann Smith", "street": "Long Road 5"}, "url": "https://shop.example.org/orders/5?page=2", "express": true}, ';

const ORDINARY: readonly (readonly [string, string])[] = [
  ['args of 100 characters', `(42, 'shop.orders.refund', ${line.slice(0, 72)}`],
  ['kwargs of 1,000 characters', repeated(line, 1_000)],
  ['JSON of 1,000 characters', repeated(json, 1_000)],
  ['JSON of 4,000 characters', repeated(json, 4_000)],
  [
    'kwargs of 1,000 characters with a password',
    `{'user': 'ann', 'password': 'x7Jw', ${repeated(line, 970)}`,
  ],
  [
    'JSON of 1,000 characters with a token and a broker URL',
    `{"token": "x7Jw", "broker": "redis://app:x7Jw@db:6379/0", ${repeated(json, 945)}`,
  ],
];

const HARMLESS: readonly (readonly [string, string])[] = [
  ['prose', repeated('The order was sent to the customer, who lives at the end of the long road. ', LONG)],
  ['kwargs', repeated(line, LONG)],
  ['JSON', repeated(json, LONG)],
  [
    'a traceback',
    repeated('  File "/srv/app/shop/orders.py", line 12, in refund\n    return charge(order)\n', LONG),
  ],
  ['identifiers', repeated('8c1f0a7e-93b2-4d5c-a6e1-f7b0c2d4e681, ', LONG)],
];

/** Time of one call in microseconds: the fastest of many short rounds, since others use the machine too. */
function fastest(run: () => unknown, calls: number): number {
  const start = process.hrtime.bigint();
  for (let call = 0; call < calls; call += 1) run();
  return Number(process.hrtime.bigint() - start) / 1_000 / calls;
}

function compare(text: string): { readonly stringify: number; readonly redact: number } {
  for (let call = 0; call < 300; call += 1) redact(text);
  const best = { stringify: Number.POSITIVE_INFINITY, redact: Number.POSITIVE_INFINITY };
  for (let round = 0; round < ROUNDS; round += 1) {
    best.stringify = Math.min(
      best.stringify,
      fastest(() => JSON.stringify(text), Math.ceil(150_000 / text.length)),
    );
    best.redact = Math.min(
      best.redact,
      fastest(() => redact(text), Math.ceil(10_000 / text.length)),
    );
  }
  return best;
}

function show(title: string, texts: readonly (readonly [string, string])[], most = texts.length): void {
  const rows = texts
    .map(([name, text]) => ({ name, text, ...compare(text) }))
    .sort((a, b) => b.redact / b.stringify - a.redact / a.stringify)
    .slice(0, most)
    .map((row) => [
      row.name,
      row.text.length.toLocaleString('en'),
      row.stringify.toFixed(2),
      row.redact.toFixed(2),
      (row.redact / row.stringify).toFixed(1),
    ]);
  printTable(title, ['text', 'characters', 'JSON.stringify, µs', 'redaction, µs', 'ratio'], rows);
}

show('Redaction of ordinary arguments', ORDINARY);
show('Redaction of harmless texts', HARMLESS);
show(
  'Redaction of adversarial texts, the ten slowest',
  [...ADVERSARIAL_UNITS, ...WORST_UNITS].map(
    (unit) => [`\`${JSON.stringify(unit)}\` over and over`, repeated(unit, LONG)] as const,
  ),
  10,
);
