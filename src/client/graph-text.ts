/** Parses the body of a graph piece by piece: as one piece, ten thousand nodes would block the page that asked. */
import type { GraphBody } from '../wire.ts';

/** Characters of a piece, which takes about a millisecond. */
const PIECE = 65_536;
/** How long pieces may follow each other without a pause, in milliseconds. */
const SLICE_MS = 12;

/** Quotes inside of texts are escaped, so that these stand between the members of the body alone. */
const NODES = '"nodes":[';
const EDGES = '],"edges":[';
const REST = '],"sources":[';
const NEXT_ITEM = '},{"id":"';

/** The text of a body, decoded as it arrives: at its end, all of it would be decoded at once. */
export async function textOf(response: Response): Promise<string> {
  if (response.body === null) return await response.text();
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
  }
}

/** @param text the body as the API writes it; one that is written in another way is parsed at once */
export async function parseGraph(text: string): Promise<GraphBody> {
  const nodesAt = text.indexOf(NODES) + NODES.length;
  const nodesEnd = text.indexOf(EDGES, nodesAt);
  const edgesAt = nodesEnd + EDGES.length;
  const edgesEnd = text.indexOf(REST, edgesAt);
  const isOurs = nodesAt >= NODES.length && nodesEnd >= 0 && edgesEnd >= 0;
  if (text.length <= PIECE || !isOurs) return JSON.parse(text) as GraphBody;
  const [before, between, after] = [
    text.slice(0, nodesAt),
    text.slice(nodesEnd, edgesAt),
    text.slice(edgesEnd),
  ];
  const body = JSON.parse(before + between + after) as GraphBody;
  const pause = pauses();
  const nodes = await parseItems(text, nodesAt, nodesEnd, pause);
  const edges = await parseItems(text, edgesAt, edgesEnd, pause);
  return { ...body, nodes: nodes as GraphBody['nodes'], edges: edges as GraphBody['edges'] };
}

async function parseItems(
  text: string,
  from: number,
  to: number,
  pause: () => Promise<void> | null,
): Promise<unknown[]> {
  const items: unknown[] = [];
  for (let at = from; at < to; ) {
    const next = text.indexOf(NEXT_ITEM, at + PIECE);
    const end = next < 0 || next >= to ? to : next + 1;
    for (const item of JSON.parse(`[${text.slice(at, end)}]`) as unknown[]) items.push(item);
    at = end + 1;
    const paused = pause();
    if (paused !== null) await paused;
  }
  return items;
}

/** Ends the turn of the event loop once a slice is over; `null` before. */
function pauses(): () => Promise<void> | null {
  let end = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < end) return null;
    return new Promise((resolve) => {
      setTimeout(() => {
        end = performance.now() + SLICE_MS;
        resolve();
      });
    });
  };
}
