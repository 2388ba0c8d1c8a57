import { type AnyFormApi, useStore } from '@tanstack/react-form'
import type { ComponentProps } from 'react'
import { Button } from './Button.tsx'

type SubmitButtonProps = Pick<ComponentProps<typeof Button>, 'size' | 'busy' | 'children'> & {
  /** A form of `useTextForm`. */
  form: Pick<AnyFormApi, 'store'>
  /** Text while the form is being sent, for example "Saving…". */
  busyLabel: string
}

/**
 * Submit button of a form: disabled from a failed validation until all fields are valid, busy while the form is being sent. `busy` replaces
 * the latter in a form with two purposes.
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
