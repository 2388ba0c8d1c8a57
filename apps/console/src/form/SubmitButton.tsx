import { type AnyFormApi, useStore } from '@tanstack/react-form'
import type { ComponentProps } from 'react'
import { Button } from '../ui/Button.tsx'

type SubmitButtonProps = Pick<ComponentProps<typeof Button>, 'size' | 'busy' | 'children'> & {
  /** A form of `useTextForm`. */
  form: Pick<AnyFormApi, 'store'>
  /** Text while the form is being sent, for example "Saving…". */
  busyLabel: string
}

/**
 * Submit button of a form. It is disabled from a failed validation until all fields are valid, and busy while the form is being sent. A
 * form that is sent for different reasons passes `busy`, which is true only for the reason of this button.
 */
export function SubmitButton({ form, ...rest }: SubmitButtonProps) {
  const { isSubmitting, canSubmit } = useStore(form.store)
  return (
    <Button
      type="submit"
      variant="primary"
      disabled={!canSubmit && !isSubmitting}
      busy={isSubmitting}
      {...rest}
    />
  )
}
