"""One record of each kind, as the service's interface describes it on the wire."""

from __future__ import annotations

from typing import Any

AT = "2026-01-01T10:00:00.000Z"

USER: dict[str, Any] = {
    "id": "u1",
    "name": "Ann",
    "email": "ann@example.com",
    "policy": "p1",
    "organizationId": {"_id": "o1", "orgName": "Jars"},
    "role": "admin",
    "is_active": True,
    "iskyc": False,
    "invitation_date": AT,
    "invitation_expiration_date": AT,
    "createdAt": AT,
    "updatedAt": AT,
    "country": "France",
    "countryCode": "FR",
    "kyc_url": "https://kyc.example.com",
    "legalFullName": "Ann Example",
    "partnerId": "x1",
    "otp_code": "canary-otp",
    "credentials": {"key": "canary-credentials"},
}

ACTIVITY: dict[str, Any] = {
    "activity": "Disburse requested",
    "status": "pending",
    "description": "asked",
    "updatedAt": AT,
}

FIAT: dict[str, Any] = {
    "disbursementId": "d1",
    "groupId": "g1",
    "recipient": {
        "recipientId": "r1",
        "email": "bo@example.com",
        "name": "Bo",
        "bank": {
            "bankName": "First Bank",
            "accountName": "Bo Example",
            "accountNumber": "canary-account",
            "bankCode": "first_bank",
            "currency": "USD",
            "country": "US",
        },
    },
    "amount": 125.5,
    "currency": "USD",
    "feeAmount": 1.25,
    "feePercentage": 1,
    "status": "pending",
    "createdBy": "u1",
    "activityHistory": [ACTIVITY],
    "reference": "ref-1",
    "note": "thanks",
    "createdAt": AT,
    "updatedAt": AT,
}

FIAT_METHOD: dict[str, Any] = {
    "currency": "USD",
    "bankCode": "first_bank",
    "bankName": "First Bank",
    "minAmount": 1,
    "maxAmount": 10000.5,
    "feeFlat": 0.25,
    "feePercentage": 1,
}

CRYPTO_DISBURSEMENT: dict[str, Any] = {
    "disbursementId": "c1",
    "groupId": "g1",
    "tokenAddress": "0xt",
    "receiverAddress": "0xr",
    "senderAddress": "0xs",
    "amount": 0.000000000000000001,
    "token": "usdc-polygon",
    "tokenDecimal": 6,
    "network": "polygon",
    "blockchainType": "EVM",
    "feeAmount": 0.5,
    "feePercentage": 1,
    "feeConfig": {"feeFlat": 0.1, "feePercentage": 1, "feeNetwork": 0.01},
    "status": "pending",
    "createdBy": "u1",
    "activityHistory": [ACTIVITY],
    "reference": "ref-1",
}

RECIPIENT: dict[str, Any] = {
    "id": "r1",
    "name": "Bo",
    "recipientType": "Individual",
    "email": "bo@example.com",
    "organizationId": "o1",
    "userId": "u1",
    "createdAt": AT,
    "updatedAt": AT,
    "bank": [
        {
            "_id": "b1",
            "accountName": "Bo Example",
            "bankName": "First Bank",
            "paymentCode": "p",
            "currency": "USD",
            "country": "US",
            "achNumber": "1",
            "fedwireNumber": "2",
            "ibanNumber": "canary-iban",
            "accountNumber": 1234567890,
            "accountType": "Checking",
            "ifsc": "I",
        }
    ],
    "city": "Lyon",
    "address": "1 Rue",
    "postCode": "69001",
    "reference": "vip",
}

PAYMENT: dict[str, Any] = {
    "id": "i1",
    "paymentId": "p1",
    "paymentType": "offramp",
    "sender": {"id": "s1", "name": "Ann", "email": "ann@example.com", "walletAddress": "0xw"},
    "receiver": {
        "id": "r1",
        "name": "Bo",
        "email": "bo@example.com",
        "accountNumber": 1234567890,
        "bankName": "First Bank",
        "ifsc": "I",
        "achNumber": "1",
        "fedwireNumber": "2",
        "ibanNumber": "canary-iban",
    },
    "inputAmount": 10.1,
    "inputAmountExact": 10.123456,
    "inputCurrency": "usdc-polygon",
    "outputCurrency": "USD",
    "outputAmount": 9.9,
    "outputAmountExact": 9.912345,
    "exchangeFees": 0.1,
    "platformFees": 0.2,
    "reason": "salary",
    "description": "may",
    "status": "pending",
    "organizationId": "o1",
    "organizationName": "Jars",
    "transactionHash": "0xh",
    "blockchain": "polygon",
    "payOutWallet": "0xp",
    "expiredDate": AT,
    "activityHistory": [{**ACTIVITY, "_id": "a1"}],
    "createdAt": AT,
    "updatedAt": AT,
}

QUOTE: dict[str, Any] = {
    "status": True,
    "coin": "usdc-polygon",
    "currency": "USD",
    "amount": 100,
    "rate_amount": 0.99,
    "amount_in_currency": 99.0,
    "total_fee_percentage": 1,
    "total_fee_amount": 1.01,
    "total_fee_amount_in_currency": 1,
    "total_received_amount": 98.99,
    "total_received_amount_in_currency": 98,
    "payout_wallet": "0xp",
}

CURRENCY: dict[str, Any] = {
    "_id": "x1",
    "id": "us",
    "value": "UNITED STATES",
    "currency": "USD",
    "countryCode": "US",
    "logo": "https://logo.example.com",
    "name": "US Dollar",
    "country": "United States",
    "symbol": "$",
    "requireBankName": True,
    "requireIfsc": False,
    "requireIban": False,
    "requireAchOrWire": True,
    "requireAccountNumber": True,
}

CRYPTO: dict[str, Any] = {
    "_id": "x1",
    "symbol": "USDC",
    "id": "usdc-polygon",
    "name": "USD Coin",
    "label": "USDC (Polygon)",
    "address": "0xt",
    "chainId": 137,
    "is_native": False,
    "logo": "https://logo.example.com",
    "currencies": ["USD", "EUR"],
    "decimal": 6,
    "priceId": "usd-coin",
}

BANK: dict[str, Any] = {
    "_id": "x1",
    "id": "b1",
    "name": "First Bank",
    "paymentCode": "p",
    "country": "US",
    "currency": "USD",
    "createdAt": AT,
    "updatedAt": AT,
    "__v": 0,
}

PAYMENT_METHOD: dict[str, Any] = {
    "id": "m1",
    "name": "Bank transfer",
    "code": "bank_transfer",
    "group": "bank",
    "currency": "USD",
    "image": "https://image.example.com",
    "isActive": True,
    "flatFeeAmount": 0.25,
    "percentFeeAmount": 1,
}
