/** What somebody may say in the words of Celery: arbitraries for the targets of Celery. */
import fc from 'fast-check';
import { anyValue, base64, bytes, pythonJson, text } from './inputs.ts';
import { misfit, mutated } from './mutations.ts';
import { EVENTS, REPLIES } from './seeds.ts';

/** Messages that are told to one deployment. */
export const BATCH = { minLength: 40, maxLength: 40 };

function parsed(seeds: readonly string[]): unknown[] {
  return seeds.flatMap((seed) => {
    try {
      return [JSON.parse(seed) as unknown];
    } catch {
      // What only Python reads is a seed of the mutated texts.
      return [];
    }
  });
}

/** Texts and values in the place of what `seeds` are. */
export function hostile(seeds: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 6, arbitrary: mutated(seeds) },
    { weight: 6, arbitrary: misfit(parsed(seeds)).map(pythonJson) },
    { weight: 1, arbitrary: anyValue.map(pythonJson) },
    { weight: 1, arbitrary: fc.oneof(bytes, text) },
  );
}

export const someId = fc.oneof(fc.constantFrom('a', '__proto__', 'constructor', ''), text);

/** The envelope around a body of anything. */
export function enveloped(body: fc.Arbitrary<string>, seeds: readonly string[]): fc.Arbitrary<string> {
  const envelopes = parsed(seeds) as Record<string, unknown>[];
  return fc
    .tuple(
      fc.constantFrom(...envelopes),
      body,
      fc.constantFrom(base64, (plain: string) => plain),
    )
    .map(([envelope, inner, pack]) => pythonJson({ ...envelope, body: pack(inner) }));
}

/** The body of a message's envelope, as text. */
export const bodyIn = (message: string): string =>
  Buffer.from((JSON.parse(message) as { body: string }).body, 'base64').toString();

export const oneEvent = fc.oneof(misfit(EVENTS), anyValue);

/** What workers have replied, by the name of the worker. */
export const REPLY_VALUES = REPLIES.map((reply) => JSON.parse(bodyIn(reply)) as Record<string, unknown>);
