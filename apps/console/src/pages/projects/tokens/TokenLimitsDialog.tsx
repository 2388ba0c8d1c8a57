import { MAX_NEW_DEVICES, MAX_TOKEN_DEVICES } from '@muster/actions/client'
import { useCommand } from '../../../api/queries.ts'
import { FormDialog } from '../../../form/FormDialog.tsx'
import { bindText, useTextForm } from '../../../form/form.ts'
import { formatCount } from '../../../lib/app/format.ts'
import { localMinute } from '../../../lib/app/local-time.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { toast } from '../../../ui/app/toast.ts'
import { TextField } from '../../../ui/TextField.tsx'
import type { Token } from './token.ts'
import { type LimitTexts, limitsOf } from './token-limits.ts'

type TokenLimitsDialogProps = { token: Token; onClose: () => void }

/** Form for a token's limits on new devices. A blank field means the hub's default. */
export function TokenLimitsDialog({ token, onClose }: TokenLimitsDialogProps) {
  const { tokenId, limits, budget } = token
  const name = token.name ?? 'unnamed'
  const setLimits = useCommand('projects_SetDeploymentTokenLimits', {
    invalidates: ['projects_QueryDeploymentTokens'],
    onSuccess: () => {
      toast(`Limits of ${name} changed.`)
      onClose()
    },
  })
  const form = useTextForm<LimitTexts>({
    defaultValues: {
      expiresAt: limits.expiresAt === undefined ? '' : localMinute(Date.parse(limits.expiresAt)),
      deviceLimit: String(limits.deviceLimit ?? ''),
      newDevicesAtOnce: String(limits.newDevicesAtOnce ?? ''),
      newDevicesPerHour: String(limits.newDevicesPerHour ?? ''),
    },
    validate: texts => ({
      expiresAt: wrongTime(texts.expiresAt),
      deviceLimit: wrongNumber('Device limit', texts.deviceLimit, MAX_TOKEN_DEVICES),
      newDevicesAtOnce: wrongNumber('New devices at once', texts.newDevicesAtOnce, MAX_NEW_DEVICES),
      newDevicesPerHour: wrongNumber('New devices an hour', texts.newDevicesPerHour, MAX_NEW_DEVICES),
    }),
    submit: async texts => {
      // The dialog shows the error from the mutation's state.
      await setLimits.mutateAsync({ tokenId, limits: limitsOf(texts) }).catch(() => {})
    },
  })
  return (
    <FormDialog
      title={`Limits of ${name}`}
      form={form}
      submit="Save Limits"
      busyLabel="Saving…"
      onClose={onClose}
    >
      <ErrorAlert title="The limits were not changed." error={setLimits.error} />
      <p className="muted">
        Limits apply to devices that this token has not seen before. Known devices always connect.
      </p>
      <form.Field name="expiresAt">
        {field => (
          <TextField
            label="Expires at"
            type="datetime-local"
            help="No new devices from then on. Blank: never."
            {...bindText(field)}
          />
        )}
      </form.Field>
      <form.Field name="deviceLimit">
        {field => (
          <TextField
            label="Device limit"
            inputMode="numeric"
            help={`Devices that enrol in all, deleted ones included: ${formatCount(token.enrolledDevices)} so far. Blank: the hub's default.`}
            {...bindText(field)}
          />
        )}
      </form.Field>
      <form.Field name="newDevicesAtOnce">
        {field => (
          <TextField
            label="New devices at once"
            inputMode="numeric"
            placeholder={limits.newDevicesAtOnce === undefined ? String(budget.atOnce) : undefined}
            help="Raise this before a large fleet enrols. Blank: the hub's default."
            {...bindText(field)}
          />
        )}
      </form.Field>
      <form.Field name="newDevicesPerHour">
        {field => (
          <TextField
            label="New devices an hour"
            inputMode="numeric"
            placeholder={limits.newDevicesPerHour === undefined ? String(budget.perHour) : undefined}
            help="Refill of the budget. Blank: the hub's default."
            {...bindText(field)}
          />
        )}
      </form.Field>
    </FormDialog>
  )
}

function wrongNumber(label: string, text: string, max: number): string | undefined {
  const isRight = /^\s*([1-9]\d{0,9})?\s*$/.test(text) && Number(text) <= max
  return isRight ? undefined : `${label} must be a whole number from 1 to ${formatCount(max)}, or blank.`
}

function wrongTime(text: string): string | undefined {
  const isRight = text === '' || !Number.isNaN(Date.parse(text))
  return isRight ? undefined : 'Expires at must be a date and a time, or blank.'
}
