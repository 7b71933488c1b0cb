/** Servers and load generators, each in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const autocannon = createRequire(import.meta.url).resolve('autocannon/autocannon.js');

/** Starts a server of this folder, which prints its port first. */
export async function startServer(
  name: string,
  ...args: readonly string[]
): Promise<{ server: ChildProcess; url: string }> {
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  const flags = ['--expose-gc', '--max-old-space-size=6000', '--import', 'tsx'];
  const server = spawn(process.execPath, [...flags, file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(server.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  return { server, url: `http://127.0.0.1:${port.toString().trim()}` };
}

/** The result of a load run. */
export interface Load {
  /** Requests per second. */
  readonly rate: number;
  /** All requests of the run. */
  readonly requests: number;
  /** 99th percentile of the time of an answer, in milliseconds. */
  readonly p99: number;
}

/**
 * Sends load to one address.
 *
 * @throws Error if a request failed, or was refused without conditional headers
 */
export async function load(
  url: string,
  {
    connections,
    seconds,
    headers = [],
  }: { connections: number; seconds: number; headers?: readonly string[] },
): Promise<Load> {
  const args = ['-c', String(connections), '-d', String(seconds), '-j'];
  for (const header of headers) args.push('-H', header);
  const generator = spawn(process.execPath, [autocannon, ...args, url], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  generator.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await once(generator, 'exit');
  const result = JSON.parse(output) as {
    requests: { average: number; total: number };
    latency: { p99: number };
    non2xx: number;
    errors: number;
  };
  const refused = headers.length === 0 ? result.non2xx : 0;
  if (result.errors > 0 || refused > 0)
    throw new Error(`${url}: ${result.errors} errors, ${refused} refusals`);
  return { rate: result.requests.average, requests: result.requests.total, p99: result.latency.p99 };
}
