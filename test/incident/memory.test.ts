import { describe } from 'vitest';
import { browserMissing, browserTitle } from '../dashboard/browser.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { askAll } from './ask-all.ts';
import { playOnMemory } from './memory-incident.ts';

describe.skipIf(browserMissing)(browserTitle('an incident on memory'), () => {
  askAll('memory', async () => {
    const { options, facts } = playOnMemory();
    const { base } = await serve(EXPRESS, options);
    return { base, facts };
  });
});
