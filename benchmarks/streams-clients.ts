/** Many clients of one stream in one process: counts the events of each, and reconnects after a disconnect. */
import { Agent, get, type IncomingMessage } from 'node:http';

const [base, clients, events] = process.argv.slice(2) as [string, string, string];
const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
const wanted = Number(events);
let arrived = 0;
let complete = 0;
let drops = 0;
let open = 0;

function follow(seen: { count: number }, lastId: string | null): void {
  const headers = { accept: 'text/event-stream', ...(lastId === null ? {} : { 'last-event-id': lastId }) };
  get(`${base}/api/events/latest/?limit=1000`, { agent, headers }, (response: IncomingMessage) => {
    if (lastId === null) {
      open += 1;
      if (open === Number(clients)) process.stdout.write('ready');
    }
    let rest = '';
    let id = lastId;
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const known = /^id: (.*)$/m.exec(block)?.[1];
        if (known === undefined) continue;
        id = known;
        // With a thousand clients in one process, counting is cheaper than parsing.
        const count = block.split('"type":"task-').length - 1;
        seen.count += count;
        arrived += count;
      }
      if (seen.count === wanted) {
        complete += 1;
        if (complete === Number(clients)) finish();
      }
    });
    response.on('error', () => {});
    response.on('close', () => {
      if (seen.count >= wanted) return;
      drops += 1;
      setTimeout(() => follow(seen, id), 100);
    });
  }).on('error', () => setTimeout(() => follow(seen, lastId), 100));
}

function finish(): void {
  process.stdout.write(JSON.stringify({ events: arrived, complete, drops }), () => process.exit(0));
}

for (let index = 0; index < Number(clients); index += 1) follow({ count: 0 }, null);
// Events that have not arrived by then are lost.
setTimeout(finish, (wanted / 200) * 1_000 + 45_000);
