/** Parses Server-Sent Events (HTML Standard, 9.2.6 "Interpreting an event stream"). */

/** One item of a stream. */
export type StreamItem =
  | { readonly kind: 'message'; readonly id: string | null; readonly data: string }
  | { readonly kind: 'retry'; readonly ms: number };

/** The items of a body as they arrive. Ends with the stream and drops an incomplete message at the end. */
export async function* readStream(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamItem> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  let data: string[] = [];
  let id: string | null = null;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { kind: 'message', id, data: data.join('\n') };
          data = [];
          continue;
        }
        const [field, text] = fieldOf(line);
        if (field === 'data') data.push(text);
        else if (field === 'id') id = text;
        else if (field === 'retry' && /^\d{1,9}$/.test(text)) yield { kind: 'retry', ms: Number(text) };
      }
    }
  } finally {
    // Closes the connection when the consumer stops reading.
    await reader.cancel().catch(() => {});
  }
}

function fieldOf(line: string): [field: string, text: string] {
  const colon = line.indexOf(':');
  if (colon < 0) return [line, ''];
  return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)];
}
