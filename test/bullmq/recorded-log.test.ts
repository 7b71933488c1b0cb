/** The log of BullMQ's events, as whoever records writes it. */
import { expect, it } from 'vitest';
import type { FeedChunk } from '../../src/history/store.ts';
import { createEventLogger } from '../../src/sources/bullmq/recorded/log/event-logger.ts';
import { readChunk, writeChunk } from '../../src/sources/bullmq/recorded/log/log-text.ts';
import type { StreamNews } from '../../src/sources/bullmq/recorded/stream-news.ts';

const newsAt = (time: number): readonly StreamNews[] => [
  {
    queue: { name: 'mail' },
    entries: [{ id: `${time}-0`, time, fields: new Map([['event', 'drained']]) }],
    hasMore: false,
    hasGap: false,
  } as unknown as StreamNews,
];

it('the log continues behind what another instance has written meanwhile', async () => {
  const chunks: FeedChunk[] = [];
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const append = (text: string): void => {
    chunks.push({ number: chunks.length + 1, instance: 'a', items: text } as FeedChunk);
  };
  const logger = createEventLogger(
    {
      async append(text) {
        append(text);
        await held;
      },
      newest: async () => chunks.at(-1) ?? null,
      read: async () => chunks,
    },
    null,
  );
  await logger.add(newsAt(1_000), new Map(), () => undefined);
  await new Promise((resolve) => setImmediate(resolve));
  // Another instance takes over while the write is under way, writes, and leaves again.
  logger.clear();
  append(writeChunk({ through: 9_000, parts: [] }));
  release();
  await logger.flush();
  await logger.add(newsAt(2_000), new Map(), () => undefined);
  await logger.flush();
  expect(chunks.map(({ items }) => readChunk(items)?.through)).toEqual([1_000, 9_000, 9_000]);
});
