/**
 * Asks the host's own route and a bare one in turns, from a thread of its own: what the tests compute must not be taken
 * for a slow host, and what the machine is busy with slows both routes alike.
 */
import { once } from 'node:events';
import { Agent, createServer, get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';

/** Between two rounds, in milliseconds. */
const PACE_MS = 10;

const bare = createServer((_request, response) => response.end('sings'))
  .listen(0, '127.0.0.1')
  .unref();
await once(bare, 'listening');
const bareUrl = `http://127.0.0.1:${bare.address().port}/canary`;

/** Polls that go on, by the number that the main thread has given them. */
const polls = new Map();

parentPort.on('message', ({ poll, url }) => {
  if (url === undefined) polls.get(poll).isOver = true;
  else void run(poll, url);
});

async function run(poll, url) {
  const state = { isOver: false };
  polls.set(poll, state);
  // One connection to each, so that the figures are those of routes and not of connecting.
  const agents = [url, bareUrl].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  const times = [];
  const bareTimes = [];
  const failures = [];
  do {
    const outcome = await ask(`${url}/canary`, agents[0], times);
    if (outcome !== '200') failures.push(outcome);
    await ask(bareUrl, agents[1], bareTimes);
    await pause(PACE_MS);
  } while (!state.isOver);
  for (const agent of agents) agent.destroy();
  polls.delete(poll);
  parentPort.postMessage({ poll, asked: times.length, failures, p99: p99(times), bareP99: p99(bareTimes) });
}

/** @returns the status, or what went wrong */
function ask(url, agent, times) {
  const start = performance.now();
  return new Promise((resolve) => {
    get(url, { agent }, (response) => {
      response.on('error', (error) => resolve(String(error)));
      response.on('end', () => resolve(String(response.statusCode))).resume();
    }).on('error', (error) => resolve(String(error)));
  }).finally(() => times.push(performance.now() - start));
}

function p99(times) {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(0.99 * sorted.length) - 1];
}
