import type { FoundProblem, RuleOutcome } from '../findings/evaluate.ts';
import { plainRecord, type Redactor } from '../redact.ts';
import type { FindingBody, RuleBody } from '../wire.ts';
import { wellFormed } from './scalars.ts';
import { rulesFor } from './shown-text.ts';

/** @param sentence redacts and truncates */
export function findingBody(
  finding: FoundProblem,
  redactor: Redactor,
  sentence: (text: string) => string,
): FindingBody {
  const { text, isSecretKey } = rulesFor(redactor, false);
  const show = (value: string): string => wellFormed(text(value, 'config'));
  const { code, severity, since, source, subject, summary, evidence, look } = finding;
  return {
    code,
    severity,
    since: new Date(since).toISOString(),
    source,
    subject: subject === null ? null : sentence(subject),
    summary: sentence(summary),
    evidence: plainRecord(evidence, show, isSecretKey) ?? {},
    look: wellFormed(look),
  };
}

/** @param sentence redacts and truncates */
export function ruleBody(outcome: RuleOutcome, sentence: (text: string) => string): RuleBody {
  const { code, source, status, reason, found } = outcome;
  return { code, source, status, reason: reason === null ? null : sentence(reason), found };
}
