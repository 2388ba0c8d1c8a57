import { ActionError } from '@muster/actions/client'
import { useState } from 'react'
import { PasswordField } from '../../ui/PasswordField.tsx'

/** Asks for the current password once the hub has refused because the sign-in is no longer recent (decisions). */
export function useCurrentPassword() {
  const [problem, setProblem] = useState<string>()
  const [currentPassword, setCurrentPassword] = useState('')
  const isNeeded = problem !== undefined

  /** Runs an action with the password if it is needed; resolves to nothing when the password is what is wrong. */
  async function run<Output>(
    action: (password: { currentPassword?: string }) => Promise<Output>,
  ): Promise<Output | undefined> {
    if (isNeeded && !currentPassword) {
      setProblem('Please enter your password.')
      return undefined
    }
    try {
      return await action(isNeeded ? { currentPassword } : {})
    } catch (error) {
      const issues = error instanceof ActionError ? error.issues : undefined
      const issue = issues?.find(({ path }) => path === 'currentPassword')
      if (!issue) throw error
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
