/**
 * The load of the host benchmark, in a process of its own: `node host-load.ts URL ATTACK` sends the requests of an
 * attack, `node host-load.ts REDIS ATTACK events` publishes its events, `fill` those before. Prints a line when it
 * begins, and another with the result as JSON.
 */
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'redis';
import { ATTACKS, type Attack, type Publication } from './host-attacks.ts';
import { statusOf } from './status-of.ts';

const [url = '', name = '', kind = 'requests'] = process.argv.slice(2);
const attack = ATTACKS.find((one) => one.name === name);

/** Sends requests until the time is up; outstanding answers are then given up. */
async function send({ clients, seconds, target }: NonNullable<Attack['requests']>): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const answers: Record<string, number> = {};
  process.stdout.write('begins\n');
  const end = performance.now() + seconds * 1_000;
  let sent = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      const path = target(sent);
      sent += 1;
      const status = await statusOf(`${url}${path}`, agent);
      answers[status] = (answers[status] ?? 0) + 1;
    }
  };
  await Promise.race([Promise.all(Array.from({ length: clients }, client)), sleep(seconds * 1_000)]);
  report(answers);
}

/** Publishes at an even rate. The messages are made before the clock starts. */
async function publish({ seconds, messages }: Publication): Promise<void> {
  const client = createClient({ url });
  client.on('error', () => {});
  await client.connect();
  const all = [...messages()];
  process.stdout.write('begins\n');
  const start = performance.now();
  let sent = 0;
  while (sent < all.length) {
    const share = (performance.now() - start) / (seconds * 1_000);
    const due = Math.min(all.length, Math.ceil(share * all.length));
    await Promise.all(
      all.slice(sent, due).map((message) => client.publish('/0.celeryev/task.multi', message)),
    );
    sent = due;
    await sleep(1);
  }
  client.destroy();
  report({ published: sent });
}

function report(counts: Readonly<Record<string, number>>): void {
  process.stdout.write(JSON.stringify(counts), () => process.exit(0));
}

const publication = kind === 'events' ? attack?.events : kind === 'fill' ? attack?.fill : undefined;
if (publication !== undefined) await publish(publication);
else if (attack?.requests !== undefined) await send(attack.requests);
