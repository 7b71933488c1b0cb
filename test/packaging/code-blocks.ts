import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './packed.ts';

/** A fenced block of one of our pages. */
export interface CodeBlock {
  /** Page and line, for titles. */
  readonly where: string;
  /** The heading above it, below that of the page: `Errors`; empty before the first. */
  readonly section: string;
  readonly language: string;
  readonly text: string;
}

/** Every fenced block of a page. */
export function codeBlocks(page: string): CodeBlock[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map((match) => ({
    where: `${page}:${text.slice(0, match.index).split('\n').length}`,
    section: [...text.slice(0, match.index).matchAll(/^##+ (.*)$/gm)].at(-1)?.[1] ?? '',
    language: match[1] ?? '',
    text: match[2] ?? '',
  }));
}

/** Every page of ours. */
export const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  '.github/SECURITY.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  'docs/grafana/README.md',
  'docs/llms.txt',
  'examples/README.md',
  'examples/mcp/README.md',
];
