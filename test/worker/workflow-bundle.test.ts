import { expect, test } from 'vitest';
import { describeError } from '../../cli/errors.ts';
import { buildWorkflowBundle } from '../../worker/workflow-bundle.ts';

test('reports a bundle that cannot be written, not a Temporal that does not answer', async () => {
  const error = await buildWorkflowBundle('/dev/null/workflows/a.js').catch((refused: unknown) => refused);
  expect(describeError(error)).toMatchObject({
    exitCode: 1,
    what: expect.stringMatching(/^The workflow code cannot be bundled: \/dev\/null\/workflows: /),
    hint: expect.stringContaining('cache folder'),
  });
});
