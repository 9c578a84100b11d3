import { proxyActivities } from '@temporalio/workflow';

const { answer } = proxyActivities<{
  answer(input: { readonly id: string }): Promise<{ readonly id: string }>;
}>({
  startToCloseTimeout: '1 min',
});

export function oneActivity(input: { readonly id: string }): Promise<{ readonly id: string }> {
  return answer(input);
}
