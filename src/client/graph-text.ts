/** Parses the body of a graph in pieces: at once, ten thousand nodes would block the page. */
import type { GraphBody } from '../wire.ts';

/** Length of a piece in characters, which takes about a millisecond. */
const PIECE = 65_536;
/** Longest time without a pause, in milliseconds. */
const SLICE_MS = 12;

/** Quotes inside of texts are escaped, so these texts occur only between the members of the body. */
const NODES = '"nodes":[';
const EDGES = '],"edges":[';
const REST = '],"sources":[';
const NEXT_ITEM = '},{"id":"';

/** The text of a body, decoded as it arrives instead of all at once at the end. */
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

/** @param text the body as the API writes it; a different format is parsed at once */
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

/** Ends the turn of the event loop when a slice is over; `null` before that. */
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
