import type { Page } from 'playwright-core';

/** Counts the bytes that a page receives from now on: headers and bodies as they come over the wire. */
export async function receivedBytes(page: Page): Promise<() => number> {
  const session = await page.context().newCDPSession(page);
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
