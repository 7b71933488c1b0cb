"""Customers of the shop, who order something every second or two."""
import itertools
import random
import time

from celery import chain, chord, group

from tasks import charge, complete_order, place_order, render_invoice, resize_photo, send_mail

for number in itertools.count(10001):
    amount = random.randint(500, 20000) / 100
    chain(
        place_order.s(number),
        charge.s(amount, card_token='tok_%032x' % random.getrandbits(128)),
        chord(
            [render_invoice.s(), send_mail.s('confirmation')],
            complete_order.s(number),
        ),
    ).apply_async()
    if number % 5 == 0:
        group(resize_photo.s('photo-%d' % number, width) for width in (64, 256, 1024)).apply_async()
    time.sleep(random.uniform(0.5, 2))
