/** Writes response bodies with `sources` and an ETag. */
import { MonitorError } from '../errors.ts';
import { errorOf, type Freshness } from '../read.ts';
import type { SourceBody } from '../wire.ts';
import type { AnswerContent, AnswerEntry } from './answer-entry.ts';
import { tagOf } from './send.ts';

/** The answer with this content. @param content `null` when the source does not know the requested task */
export function answerWith(content: AnswerContent | null, freshness: Freshness, now: number): AnswerEntry {
  // While a source is unavailable, a task that was not found may exist there.
  if (content === null) throw new MonitorError(errorOf(freshness) ?? 'task_not_found');
  return render(content, freshness, now);
}

/**
 * Renders an answer.
 *
 * @param etag ETag of the same content, if it is known. Default: computed
 */
export function render(
  content: AnswerContent,
  freshness: Freshness,
  now: number,
  etag?: string,
): AnswerEntry {
  const sources = freshness.sources.map(
    ({ name, engine, ok, asOf, error }): SourceBody => ({
      name,
      engine,
      ok,
      as_of: asOf === null ? null : new Date(asOf).toISOString(),
      error: error ?? (content.unreadable?.has(name) ? 'source_invalid' : null),
    }),
  );
  const given = content.render(now, JSON.stringify(sources));
  const body = typeof given === 'string' ? Buffer.from(given) : given;
  return {
    content,
    freshness,
    body,
    etag: etag ?? tagOf(content.stable, sources.map(({ ok, error }) => `${ok} ${error}`).join()),
    renderedAt: now,
    size: body.length + content.stable.length + (content.bytes ?? 0),
  };
}
