/** Calls the host's `taskLinks` safely. */
import type { Monitor } from '../http/monitor.ts';
import type { LinkedTask } from '../options.ts';
import { wellFormed } from '../serialize/scalars.ts';
import { isWebLink } from '../text/web-link.ts';
import { frozen, isRecord } from '../values.ts';
import type { TaskLinkBody } from '../wire.ts';

const MOST_LINKS = 10;
const LONGEST_TEXT = 200;

/** @param task as served; it gets frozen, since the host must not change the answer */
export function linksOf({ options: { taskLinks }, report }: Monitor, task: LinkedTask): TaskLinkBody[] {
  if (taskLinks === null) return [];
  const context = { code: 'source_invalid', source: null, call: 'taskLinks' } as const;
  try {
    const given: unknown = taskLinks(frozen(task));
    if (!Array.isArray(given)) {
      // An unhandled rejection would end the host's process.
      new Promise((adopt) => adopt(given)).catch(() => {});
      throw new TypeError('taskLinks(task) must return an array of { text, url } at once, not a promise.');
    }
    const links = given.slice(0, MOST_LINKS).flatMap(linkOf);
    if (links.length < Math.min(given.length, MOST_LINKS)) {
      report(
        new TypeError(
          'taskLinks(task): a text is missing, or a url is not a path or an http(s) URL without a password.',
        ),
        context,
      );
    }
    return links;
  } catch (error) {
    report(error, context);
    return [];
  }
}

function linkOf(link: unknown): TaskLinkBody[] {
  if (!isRecord(link)) return [];
  const { text, url } = link;
  if (typeof text !== 'string' || text.trim() === '' || !isWebLink(url)) return [];
  return [{ text: wellFormed(text.slice(0, LONGEST_TEXT)), url: wellFormed(url) }];
}
