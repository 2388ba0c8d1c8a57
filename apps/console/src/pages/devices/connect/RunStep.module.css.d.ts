declare const styles: {
  readonly count: string
  readonly more: string
  readonly notes: string
  readonly question: string
  readonly terminal: string
}
export default styles
