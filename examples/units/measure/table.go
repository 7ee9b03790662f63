package measure

import (
	"math/big"
	"strings"
	"sync"
)

// definitions is one line a unit: symbol, name, factor to the base unit as an exact fraction
// or decimal, further spellings. Where a factor is a product, it is written as one.
var definitions = map[Quantity]string{
	Length: `
m      | metre               | 1            | meter
km     | kilometre           | 1000         | kilometer
cm     | centimetre          | 0.01         | centimeter
mm     | millimetre          | 0.001        | millimeter
um     | micrometre          | 0.000001     | micrometer, micron
nm     | nanometre           | 1e-9         | nanometer
in     | inch                | 0.0254       | inches, "
ft     | foot                | 0.3048       | feet, '
yd     | yard                | 0.9144       |
mi     | mile                | 1609.344     |
nmi    | nautical mile       | 1852         | NM
fathom | fathom              | 1.8288       |
furlong| furlong             | 201.168      |
au     | astronomical unit   | 149597870700 |
ly     | light-year          | 9460730472580800 | light year`,

	Area: `
m2   | square metre      | 1              | square meter, sq m
km2  | square kilometre  | 1000000        | square kilometer, sq km
cm2  | square centimetre | 0.0001         | square centimeter, sq cm
mm2  | square millimetre | 0.000001       | square millimeter, sq mm
ha   | hectare           | 10000          |
in2  | square inch       | 0.00064516     | square inches, sq in
ft2  | square foot       | 0.09290304     | square feet, sq ft
yd2  | square yard       | 0.83612736     | sq yd
mi2  | square mile       | 2589988.110336 | sq mi
acre | acre              | 4046.8564224   | ac`,

	Volume: `
m3        | cubic metre          | 1                 | cubic meter
cm3       | cubic centimetre     | 0.000001          | cubic centimeter, cc
L         | litre                | 0.001             | liter, l
dL        | decilitre            | 0.0001            | deciliter, dl
cL        | centilitre           | 0.00001           | centiliter, cl
mL        | millilitre           | 0.000001          | milliliter, ml
in3       | cubic inch           | 0.000016387064    | cubic inches
ft3       | cubic foot           | 0.028316846592    | cubic feet
gal       | US gallon            | 0.003785411784    | gallon
qt        | US quart             | 0.000946352946    | quart
pt        | US pint              | 0.000473176473    | pint
cup       | US cup               | 0.0002365882365   |
floz      | US fluid ounce       | 0.0000295735295625 | fluid ounce, fl oz, fl_oz
tbsp      | US tablespoon        | 0.00001478676478125 | tablespoon
tsp       | US teaspoon          | 0.00000492892159375 | teaspoon
bbl       | oil barrel           | 0.158987294928    | barrel
imp_gal   | imperial gallon      | 0.00454609        |
imp_qt    | imperial quart       | 0.0011365225      |
imp_pt    | imperial pint        | 0.00056826125     |
imp_floz  | imperial fluid ounce | 0.0000284130625   |`,

	Mass: `
kg        | kilogram    | 1              |
g         | gram        | 0.001          |
mg        | milligram   | 0.000001       |
ug        | microgram   | 1e-9           | mcg
t         | tonne       | 1000           | metric ton
lb        | pound       | 0.45359237     | lbs
oz        | ounce       | 0.028349523125 |
st        | stone       | 6.35029318     | stone
gr        | grain       | 0.00006479891  |
ozt       | troy ounce  | 0.0311034768   |
ct        | carat       | 0.0002         |
short_ton | short ton   | 907.18474      |
long_ton  | long ton    | 1016.0469088   |`,

	Temperature: `
K  | kelvin            | 1   |
°C | degree Celsius    | 1   | C, degC, Celsius, centigrade
°F | degree Fahrenheit | 5/9 | F, degF, Fahrenheit
°R | degree Rankine    | 5/9 | degR, Rankine`,

	Speed: `
m/s  | metre per second   | 1          | meter per second, mps
km/h | kilometre per hour | 5/18       | kilometer per hour, kph, kmh
mph  | mile per hour      | 0.44704    | mi/h, miles per hour
kn   | knot               | 1852/3600  | kt, kts
ft/s | foot per second    | 0.3048     | feet per second, fps`,

	Time: `
s   | second      | 1      | sec
ms  | millisecond | 0.001  |
us  | microsecond | 0.000001 |
ns  | nanosecond  | 1e-9   |
min | minute      | 60     |
h   | hour        | 3600   | hr, hrs
d   | day         | 86400  |
wk  | week        | 604800 |`,

	Pressure: `
Pa   | pascal                | 1       |
hPa  | hectopascal           | 100     |
kPa  | kilopascal            | 1000    |
MPa  | megapascal            | 1000000 |
bar  | bar                   | 100000  |
mbar | millibar              | 100     |
atm  | standard atmosphere   | 101325  | atmosphere
psi  | pound per square inch | 0.45359237*9.80665/0.00064516 | lbf/in2, pounds per square inch
torr | torr                  | 101325/760 | Torr
mmHg | millimetre of mercury | 133.322387415 | millimeter of mercury`,

	Energy: `
J    | joule                | 1           |
kJ   | kilojoule            | 1000        |
MJ   | megajoule            | 1000000     |
cal  | calorie              | 4.184       | small calorie
kcal | kilocalorie          | 4184        | Cal, food calorie
Wh   | watt-hour            | 3600        | watt hour
kWh  | kilowatt-hour        | 3600000     | kilowatt hour
BTU  | British thermal unit | 1055.05585262 | Btu
eV   | electronvolt         | 1.602176634e-19 |`,

	Data: `
bit   | bit      | 1             | b
kbit  | kilobit  | 1000          | kb, Kbit
Mbit  | megabit  | 1000000       | Mb
Gbit  | gigabit  | 1000000000    | Gb
Tbit  | terabit  | 1000000000000 | Tb
B     | byte     | 8             |
kB    | kilobyte | 8000          | KB
MB    | megabyte | 8000000       |
GB    | gigabyte | 8000000000    |
TB    | terabyte | 8000000000000 |
PB    | petabyte | 8000000000000000 |
Kibit | kibibit  | 1024          |
Mibit | mebibit  | 1048576       |
Gibit | gibibit  | 1073741824    |
KiB   | kibibyte | 8*1024        |
MiB   | mebibyte | 8*1048576     |
GiB   | gibibyte | 8*1073741824  |
TiB   | tebibyte | 8*1099511627776 |
PiB   | pebibyte | 8*1125899906842624 |`,

	DataRate: `
bit/s  | bit per second      | 1          | bps, b/s
kbit/s | kilobit per second  | 1000       | kbps, kb/s
Mbit/s | megabit per second  | 1000000    | Mbps, Mb/s
Gbit/s | gigabit per second  | 1000000000 | Gbps, Gb/s
B/s    | byte per second     | 8          | Bps
kB/s   | kilobyte per second | 8000       | KB/s
MB/s   | megabyte per second | 8000000    |
GB/s   | gigabyte per second | 8000000000 |
KiB/s  | kibibyte per second | 8*1024     |
MiB/s  | mebibyte per second | 8*1048576  |
GiB/s  | gibibyte per second | 8*1073741824 |`,
}

// offsets are where the zero of a scale stands, in kelvin.
var offsets = map[string]string{"°C": "273.15", "°F": "45967/180"}

// units is every unit, by quantity and in the order of the definitions.
var units = sync.OnceValue(func() []Unit {
	var all []Unit
	for _, quantity := range Quantities() {
		for _, line := range strings.Split(strings.TrimSpace(definitions[quantity]), "\n") {
			cells := strings.SplitN(line, "|", 4)
			unit := Unit{
				Symbol: strings.TrimSpace(cells[0]), Name: strings.TrimSpace(cells[1]), Quantity: quantity,
				factor: product(strings.TrimSpace(cells[2])),
			}
			for _, word := range strings.Split(cells[3], ",") {
				if word = strings.TrimSpace(word); word != "" {
					unit.words = append(unit.words, word)
				}
			}
			if offset, ok := offsets[unit.Symbol]; ok {
				unit.offset = product(offset)
			}
			all = append(all, unit)
		}
	}
	return all
})

// product evaluates a*b/c of decimals. The definitions above are its only input, and a test
// reads them all.
func product(text string) *big.Rat {
	value := big.NewRat(1, 1)
	above, below, divided := strings.Cut(text, "/")
	for _, part := range strings.Split(above, "*") {
		value.Mul(value, decimal(part))
	}
	if divided {
		value.Quo(value, decimal(below))
	}
	return value
}

func decimal(text string) *big.Rat {
	value, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("measure: " + text + " is no number")
	}
	return value
}

// All lists every unit, by quantity.
func All() []Unit { return append([]Unit(nil), units()...) }

// Of lists the units of one quantity.
func Of(quantity Quantity) []Unit {
	var some []Unit
	for _, unit := range units() {
		if unit.Quantity == quantity {
			some = append(some, unit)
		}
	}
	return some
}
