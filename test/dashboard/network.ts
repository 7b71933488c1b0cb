import type { CDPSession, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';

async function sessionWith(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page);
  onTestFinished(() => session.detach());
  return session;
}

/** Counts the bytes that a page receives from now on: headers and bodies as they come over the wire. */
export async function receivedBytes(page: Page): Promise<() => number> {
  const session = await sessionWith(page);
  let bytes = 0;
  // Of a response as it goes on, then of the rest of it at its end, headers included.
  const counted = new Map<string, number>();
  session.on('Network.dataReceived', ({ requestId, encodedDataLength }) => {
    counted.set(requestId, (counted.get(requestId) ?? 0) + encodedDataLength);
    bytes += encodedDataLength;
  });
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    bytes += Math.max(0, encodedDataLength - (counted.get(requestId) ?? 0));
    counted.delete(requestId);
  });
  await session.send('Network.enable');
  return () => bytes;
}

/** Counts the bytes that answers bring from now on that had begun before: those of the stream. */
export async function streamedBytes(page: Page): Promise<() => number> {
  const session = await sessionWith(page);
  let bytes = 0;
  const later = new Set<string>();
  session.on('Network.requestWillBeSent', ({ requestId }) => void later.add(requestId));
  session.on('Network.dataReceived', ({ requestId, dataLength }) => {
    if (!later.has(requestId)) bytes += dataLength;
  });
  await session.send('Network.enable');
  return () => bytes;
}
