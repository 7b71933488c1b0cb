import { describe, expect, it } from 'vitest';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { browserMissing, browserTitle, look } from './browser.ts';
import { POISON, poisoned } from './poison.ts';

const id = encodeURIComponent(POISON);

describe.skipIf(browserMissing)(
  browserTitle('in a browser, a name, value or traceback full of HTML and script'),
  () => {
    it.each([
      ['the overview', '#/'],
      ['the list', '#/tasks'],
      [
        'the list with every filter',
        `#/tasks?q=alert&state=${id}&name=${id}&worker=${id}&queue=${id}&group_id=${id}`,
      ],
      ['a task', `#/tasks/${id}`],
      ['a task with slashes', `#/tasks/${encodeURIComponent(`a/b?c#d ${POISON}`)}`],
      ['a task that nobody knows', `#/tasks/${encodeURIComponent(`x${POISON}`)}`],
      ['a workflow', `#/workflow/${id}`],
      ['a workflow as a graph', `#/workflow/${id}?view=graph`],
      ['workers', '#/workers'],
      ['schedules', '#/schedules'],
      ['system', '#/system'],
      ['an address that is no view', `#/${POISON}`],
    ])('shows as text in %s', async (_, hash) => {
      for (const major of EXPRESS_MAJORS.slice(0, 1)) {
        const { base } = await serve(major, { sources: poisoned(), dashboard: { title: POISON } });
        const { page, text } = await look(base, hash, { expected: /40[04]|503/ });
        await page.getByText('onerror=alert(1)').first().waitFor();
        expect(await text()).toContain('<img src=x onerror=alert(1)>');
        expect(
          await page
            .locator('#app img, #app script, #app [onload], #app [onerror], a[href^="javascript:"]')
            .count(),
        ).toBe(0);
      }
    });
  },
);
