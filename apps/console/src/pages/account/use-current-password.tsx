import { ActionError } from '@muster/actions/client'
import { useState } from 'react'
import { PasswordField } from '../../ui/PasswordField.tsx'

/** Asks for the current password once the hub has refused because the sign-in is no longer recent (decisions). */
export function useCurrentPassword() {
  const [problem, setProblem] = useState<string>()
  const [error, setError] = useState<unknown>()
  const [currentPassword, setCurrentPassword] = useState('')
  const isNeeded = problem !== undefined

  /** Runs an action with the password if it is needed; resolves to nothing when it fails, which the field or `error` tells. */
  async function run<Output>(
    action: (password: { currentPassword?: string }) => Promise<Output>,
  ): Promise<Output | undefined> {
    setError(undefined)
    if (isNeeded && !currentPassword) {
      setProblem('Please enter your password.')
      return undefined
    }
    try {
      return await action(isNeeded ? { currentPassword } : {})
    } catch (reason) {
      const issues = reason instanceof ActionError ? reason.issues : undefined
      const issue = issues?.find(({ path }) => path === 'currentPassword')
      if (issue) setProblem(issue.message)
      else setError(reason)
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
  return { run, field, error }
}
