import { describe } from 'vitest';
import { browserMissing, browserTitle } from '../dashboard/browser.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { askAll } from './ask-all.ts';
import { playOnMemory } from './memory-incident.ts';

const [major] = EXPRESS_MAJORS;
if (major === undefined) throw new Error('there is no Express');

describe.skipIf(browserMissing)(browserTitle('an incident on memory'), () => {
  askAll('memory', async () => {
    const { options, facts } = playOnMemory();
    const { base } = await serve(major, options);
    return { base, facts };
  });
});
