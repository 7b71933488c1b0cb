import type { CDPSession, Page } from 'playwright-core';

/** It ends with its page. */
const sessionWith = (page: Page): Promise<CDPSession> => page.context().newCDPSession(page);

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

/** The bytes of the first answer of each address to a page without a cache: headers and body as they come over the wire. */
export async function firstAnswers(page: Page): Promise<ReadonlyMap<string, number>> {
  const session = await sessionWith(page);
  const requests = new Map<string, string>();
  const bytes = new Map<string, number>();
  session.on('Network.requestWillBeSent', ({ requestId, request: { url } }) => {
    if (bytes.has(url)) return;
    bytes.set(url, 0);
    requests.set(requestId, url);
  });
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const url = requests.get(requestId);
    if (url !== undefined) bytes.set(url, encodedDataLength);
  });
  await session.send('Network.enable');
  await session.send('Network.clearBrowserCache');
  return bytes;
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
