import { ActionError } from '@muster/actions/client'
import { useState } from 'react'
import { PasswordField } from '../../ui/PasswordField.tsx'

/**
 * State and field for the current password. The field appears once the hub has required the password, because the
 * sign-in is not recent (docs/decisions.md).
 */
export function useCurrentPassword() {
  const [problem, setProblem] = useState<string>()
  const [currentPassword, setCurrentPassword] = useState('')
  const isNeeded = problem !== undefined

  /**
   * Runs an action, with the current password if the field is shown. If the hub requires or rejects the password, the
   * field shows the hub's message and the promise resolves to `undefined`. Rejects with any other error.
   */
  async function run<Output>(
    action: (password: { currentPassword?: string }) => Promise<Output>,
  ): Promise<Output | undefined> {
    if (isNeeded && !currentPassword) {
      setProblem('Please enter your password.')
      return undefined
    }
    try {
      const output = await action(isNeeded ? { currentPassword } : {})
      setProblem(undefined)
      setCurrentPassword('')
      return output
    } catch (reason) {
      const issues = reason instanceof ActionError ? reason.issues : undefined
      const issue = issues?.find(({ path }) => path === 'currentPassword')
      if (!issue) throw reason
      setProblem(issue.message)
      return undefined
    }
  }

  const field = isNeeded && (
    <PasswordField
      label="Current password"
      name="currentPassword"
      autoComplete="current-password"
      required
      value={currentPassword}
      onChange={value => {
        setCurrentPassword(value)
        setProblem('')
      }}
      error={problem || undefined}
    />
  )
  return { run, field }
}
