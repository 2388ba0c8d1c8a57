declare const styles: {
  readonly count: string
  readonly number: string
  readonly options: string
  readonly share: string
  readonly value: string
}
export default styles
