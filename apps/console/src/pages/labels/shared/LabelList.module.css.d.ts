declare const styles: {
  readonly key: string
  readonly label: string
  readonly labels: string
  readonly value: string
}
export default styles
