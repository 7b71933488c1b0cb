import { describe, expect, it } from 'vitest';
import { createRedactor, type Redactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';
import { sample } from '../helpers/cases.ts';
import { leakIn, type SecretText, WHOLE_TEXTS } from './corpus/index.ts';

const PREVIEW = 256;
const DETAIL = 65_536;
/** Longer than what is read of a text beyond what is shown. */
const READ_BEYOND = 4_096;

const serializerWith = (redactor: Redactor) =>
  createSerializer({ redactor, preview: PREVIEW, detail: DETAIL });
const serializer = serializerWith(createRedactor());

/** The text behind so much that nobody minds that a limit cuts it in the middle of its secret. */
function cutAt(limit: number, { text, secrets }: SecretText): string {
  const [secret = ''] = secrets;
  const before = text.indexOf(secret) + Math.ceil(secret.length / 2);
  return `${'order 1, '.repeat(limit / 9).slice(0, limit - before - 1)} ${text}`;
}

const rowOf = (text: string, { taskRowJson } = serializer): string =>
  taskRowJson({ id: '1', state: 'FAILURE', args: text, result: { note: text } }, 'a') ?? '';

// Each value of a task is 64 KiB of work: every seventh text of each kind has to do.
const FEW = sample(WHOLE_TEXTS.filter((_, index) => index % 7 === 0));

describe('a secret that a limit of ours cuts in two', { timeout: 120_000 }, () => {
  it.each([
    ['the preview', PREVIEW],
    ['what is read for the preview', PREVIEW + READ_BEYOND],
  ])('does not come out of a row: %s', (_, limit) => {
    for (const entry of sample(WHOLE_TEXTS)) {
      expect(leakIn(rowOf(cutAt(limit, entry)), entry), entry.rest).toBeNull();
    }
  });

  it.each([
    ['the longest value', DETAIL],
    ['what is read for it', DETAIL + READ_BEYOND],
  ])('does not come out of a task: %s', (_, limit) => {
    for (const entry of FEW) {
      const task = { id: '1', state: 'FAILURE', traceback: cutAt(limit, entry) };
      expect(leakIn(serializer.taskDetail(task, 'a')?.traceback ?? '', entry), entry.rest).toBeNull();
    }
  });

  it('would be seen if it were not for the redaction', () => {
    const plain = serializerWith(createRedactor(false));
    const texts = sample(WHOLE_TEXTS);
    const seen = texts.filter((entry) => leakIn(rowOf(cutAt(PREVIEW, entry), plain), entry) !== null);
    expect(seen.length).toBeGreaterThan(texts.length * 0.9);
  });
});
