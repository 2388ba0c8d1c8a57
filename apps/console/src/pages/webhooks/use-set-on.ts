import { useCommand } from '../../api/queries.ts'
import { toastError } from '../../ui/app/toast.ts'
import { settingsOf, type Webhook } from './webhook.ts'

/** Whether a webhook is on, and a function that turns it on or off. While a change is being saved, `isOn` is the requested value. */
export function useSetOn(webhook: Webhook) {
  const set = useCommand('webhooks_Set', { invalidates: ['webhooks_Query', 'webhooks_GetDetails'] })
  return {
    isOn: set.isPending ? set.variables.isOn : webhook.state !== 'Off',
    isBusy: set.isPending,
    setOn: (isOn: boolean) =>
      set.mutate(
        { ...settingsOf(webhook), isOn },
        {
          onError: error =>
            toastError(isOn ? 'Could not turn the webhook on' : 'Could not turn the webhook off', error),
        },
      ),
  }
}
