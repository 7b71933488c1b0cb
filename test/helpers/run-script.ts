/** Scripts on the library's sources, each in a process of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { bundleScript, ROOT } from './bundle-script.ts';

/** How a script ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a module that imports `./src/…` until it ends by itself.
 *
 * @param args arguments of Node
 * @param node which Node; default: this one
 */
export async function runScript(
  script: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
  node = process.execPath,
): Promise<Ended> {
  const bundled = await bundleScript(script);
  const child = spawn(node, [...args, '--input-type=module', '-'], {
    cwd: ROOT,
    env: { ...process.env, ...env },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  child.stdin.end(bundled);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}
