import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { sqliteNode } from './other-node.ts';
import { endWithProcess } from './redis-server.ts';

/** Runs statements on a SQLite file, in a Node that has `node:sqlite`. */
export interface SqliteQuery {
  query(text: string, values: readonly string[]): Promise<readonly object[]>;
  close(): void;
}

const PROGRAM = `
const { DatabaseSync } = require('node:sqlite');
const db = new DatabaseSync(process.argv[1]);
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { text, values } = JSON.parse(line);
  let answer;
  try {
    answer = { rows: db.prepare(text).all(...values) };
  } catch ({ message, code }) {
    answer = { message, code };
  }
  console.log(JSON.stringify(answer));
});
`;

/** One statement is under way at a time. */
export function openSqlite(file: string): SqliteQuery {
  const child = spawn(sqliteNode, ['--no-warnings', '-e', PROGRAM, file], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  endWithProcess(child);
  const waiting: ((line: string) => void)[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.(line));
  return {
    async query(text, values) {
      const answer = new Promise<string>((resolve) => waiting.push(resolve));
      child.stdin.write(`${JSON.stringify({ text, values })}\n`);
      const { rows, ...error } = JSON.parse(await answer) as { rows?: object[] };
      if (rows === undefined) throw Object.assign(new Error(), error);
      return rows;
    },
    close: () => void child.kill(),
  };
}
