declare const styles: {
  readonly json: string
  readonly name: string
  readonly number: string
  readonly text: string
}
export default styles
