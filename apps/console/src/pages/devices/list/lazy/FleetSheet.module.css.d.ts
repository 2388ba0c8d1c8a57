declare const styles: {
  readonly fleet: string
  readonly label: string
  readonly states: string
  readonly value: string
}
export default styles
