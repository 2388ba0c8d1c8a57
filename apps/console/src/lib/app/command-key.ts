/** Key of shortcuts that also work in input fields, as printed on the keyboard of this system. */
export const COMMAND_KEY = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl'
